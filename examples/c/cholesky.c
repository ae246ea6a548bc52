/* SPDX-License-Identifier: Apache-2.0 */
/* ranks: 4 */
/* expected: 14_cholesky.expected */
/* The Cholesky factor of a matrix in tiles, as a sequential program of four kinds of tasks. Every rank submits all
 * tasks; messages follow from the tiles that tasks access. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "plait/plait.h"

enum { b = 24, tiles = 6, n = tiles * b };

static void stop_on(int error) {
  if (error != PLAIT_SUCCESS) {
    fprintf(stderr, "%s\n", plait_last_error());
    MPI_Abort(MPI_COMM_WORLD, error);
  }
}

static double element(int row, int column) {
  const double distance = row - column;
  return row == column ? 3.0 : 1.0 / (1.0 + distance * distance);
}

static int fill(const plait_memory* memory, void* argument) {
  double* const a = memory[0].first;
  const int* const place = argument;
  int i;
  for (i = 0; i < b * b; ++i) {
    a[i] = element(place[0] * b + i / b, place[1] * b + i % b);
  }
  return 0;
}

/* A tile on the diagonal: its factor, by columns. */
static int factorise(const plait_memory* memory, void* argument) {
  double* const a = memory[0].first;
  int i, j, k;
  (void)argument;
  for (k = 0; k < b; ++k) {
    if (!(a[k * b + k] > 0)) {
      return plait_fail(PLAIT_USER_TASK, "the matrix is not positive definite: it has no Cholesky factor");
    }
    a[k * b + k] = sqrt(a[k * b + k]);
    for (i = k + 1; i < b; ++i) {
      a[i * b + k] /= a[k * b + k];
    }
    for (j = k + 1; j < b; ++j) {
      for (i = j; i < b; ++i) {
        a[i * b + j] -= a[i * b + k] * a[j * b + k];
      }
    }
  }
  return 0;
}

/* A tile below it: x with x * l^T = a, in place. */
static int solve(const plait_memory* memory, void* argument) {
  const double* const l = memory[0].first;
  double* const a = memory[1].first;
  int i, j, k;
  (void)argument;
  for (i = 0; i < b; ++i) {
    for (j = 0; j < b; ++j) {
      for (k = 0; k < j; ++k) {
        a[i * b + j] -= a[i * b + k] * l[j * b + k];
      }
      a[i * b + j] /= l[j * b + j];
    }
  }
  return 0;
}

static void subtract_product(const double* left, const double* right, double* c) {
  int i, j, k;
  for (i = 0; i < b; ++i) {
    for (j = 0; j < b; ++j) {
      for (k = 0; k < b; ++k) {
        c[i * b + j] -= left[i * b + k] * right[j * b + k];
      }
    }
  }
}

static int update(const plait_memory* memory, void* argument) {
  (void)argument;
  subtract_product(memory[0].first, memory[1].first, memory[2].first);
  return 0;
}

static int update_diagonal(const plait_memory* memory, void* argument) {
  (void)argument;
  subtract_product(memory[0].first, memory[0].first, memory[1].first);
  return 0;
}

static plait_access reads(plait_data* data) {
  const plait_access access = {data, PLAIT_READ};
  return access;
}

static plait_access changes(plait_data* data) {
  const plait_access access = {data, PLAIT_READ_WRITE};
  return access;
}

static void submit(plait_flow* flow, const char* kind, plait_flow_function function, size_t count, plait_access* use) {
  plait_submission task = {0};
  task.kind = kind;
  task.function = function;
  stop_on(plait_flow_submit(flow, &task, count, use));
}

static void submit_fill(plait_flow* flow, plait_data* data, int row, int column) {
  int place[2];
  const plait_access use = {data, PLAIT_WRITE};
  plait_submission task = {0};
  place[0] = row;
  place[1] = column;
  task.kind = "fill";
  task.function = fill;
  task.argument = place; /* which is copied */
  task.argument_bytes = sizeof place;
  stop_on(plait_flow_submit(flow, &task, 1, &use));
}

static void submit_factorisation(plait_flow* flow, plait_data* a[tiles][tiles]) {
  int k, row, column;
  for (k = 0; k < tiles; ++k) {
    plait_access diagonal[1] = {changes(a[k][k])};
    submit(flow, "factorise", factorise, 1, diagonal);
    for (row = k + 1; row < tiles; ++row) {
      plait_access use[2] = {reads(a[k][k]), changes(a[row][k])};
      submit(flow, "solve", solve, 2, use);
    }
    for (row = k + 1; row < tiles; ++row) {
      plait_access use[2] = {reads(a[row][k]), changes(a[row][row])};
      submit(flow, "update_diagonal", update_diagonal, 2, use);
      for (column = k + 1; column < row; ++column) {
        plait_access uses[3] = {reads(a[row][k]), reads(a[column][k]), changes(a[row][column])};
        submit(flow, "update", update, 3, uses);
      }
    }
  }
}

/* The factor of the whole matrix, by one rank. */
static void factorise_sequentially(double (*l)[n]) {
  int i, j, k;
  for (j = 0; j < n; ++j) {
    for (i = j; i < n; ++i) {
      double sum = element(i, j);
      for (k = 0; k < j; ++k) {
        sum -= l[i][k] * l[j][k];
      }
      l[i][j] = i == j ? sqrt(sum) : sum / l[j][j];
    }
  }
}

/* The rank that owns a tile, in a grid of 2 x 2 ranks. */
static int owner(int row, int column) {
  return row % 2 * 2 + column % 2;
}

int main(int argc, char** argv) {
  static double l[n][n];
  plait_runtime* runtime = NULL;
  plait_group* group = NULL;
  plait_flow* flow = NULL;
  plait_data* a[tiles][tiles] = {{NULL}};
  int provided, row, column, i;
  int64_t different = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  stop_on(plait_runtime_create(MPI_COMM_WORLD, NULL, &runtime));
  stop_on(plait_group_create(runtime, 0, NULL, &group));
  stop_on(plait_flow_create(runtime, &flow));
  for (row = 0; row < tiles; ++row) {
    for (column = 0; column <= row; ++column) {
      stop_on(plait_flow_data(flow, owner(row, column), b * b * sizeof(double), NULL, &a[row][column]));
      submit_fill(flow, a[row][column], row, column);
    }
  }
  submit_factorisation(flow, a);
  stop_on(plait_flow_wait(flow));

  factorise_sequentially(l);
  for (row = 0; row < tiles; ++row) {
    for (column = 0; column <= row; ++column) {
      void* memory = NULL;
      if (owner(row, column) != plait_rank(runtime)) {
        continue;
      }
      stop_on(plait_data_local(a[row][column], &memory));
      for (i = 0; i < b * b; ++i) {
        const int at_row = row * b + i / b;
        const int at_column = column * b + i % b;
        different += at_column <= at_row && fabs(((const double*)memory)[i] - l[at_row][at_column]) > 1e-12;
      }
    }
  }
  stop_on(plait_all_reduce(group, &different, 1, PLAIT_INT64, PLAIT_SUM, NULL));
  if (plait_rank(runtime) == 0) {
    printf("%d x %d elements in %d x %d tiles: %d differ from the sequential factor\n",
           n,
           n,
           tiles,
           tiles,
           (int)different);
  }
  stop_on(plait_flow_free(&flow));
  stop_on(plait_group_free(&group));
  stop_on(plait_runtime_free(&runtime));
  MPI_Finalize();
  return 0;
}
