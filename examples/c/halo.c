/* SPDX-License-Identifier: Apache-2.0 */
/* ranks: 4 */
/* expected: 13_halo.expected */
/* A stencil on a periodic grid of 2 x 2 ranks. While the edges of the blocks are under way, each rank computes the
 * cells that need none of them. Columns are sent from where they are. */
#include <stdio.h>
#include <stdlib.h>

#include "plait/plait.h"

enum { n = 32, steps = 100, side_count = 4 };
enum side { left, right, above, below };

/* A rank's block, with a line of cells of each neighbour around it. */
typedef double block[n + 2][n + 2];

static void stop_on(int error) {
  if (error != PLAIT_SUCCESS) {
    fprintf(stderr, "%s\n", plait_last_error());
    MPI_Abort(MPI_COMM_WORLD, error);
  }
}

static double first_value(int row, int column) {
  return (row * 7 + column * 13) % 31;
}

static double average(double left_of, double right_of, double above_of, double below_of) {
  return 0.25 * (left_of + right_of + above_of + below_of);
}

/* The memory of one edge of the block (first 1, last n), or of the halo beyond it (0, n + 1). */
static plait_layout line(block cells, enum side side, int first, int last) {
  switch (side) {
    case left:
      return plait_strided(&cells[1][first], sizeof(double), sizeof cells[0], n);
    case right:
      return plait_strided(&cells[1][last], sizeof(double), sizeof cells[0], n);
    case above:
      return plait_contiguous(&cells[first][1], n * sizeof(double));
    default:
      return plait_contiguous(&cells[last][1], n * sizeof(double));
  }
}

static void compute(block new_cells, block old, int row, int column) {
  new_cells[row][column] =
      average(old[row][column - 1], old[row][column + 1], old[row - 1][column], old[row + 1][column]);
}

static void step(plait_runtime* runtime, const int* neighbours, block old, block new_cells) {
  static const enum side opposite[side_count] = {right, left, below, above};
  plait_request* requests[2 * side_count];
  int side, row, i;
  for (side = 0; side < side_count; ++side) {
    const plait_layout halo = line(old, (enum side)side, 0, n + 1);
    const plait_layout edge = line(old, (enum side)side, 1, n);
    stop_on(plait_receive_layout(runtime, &halo, neighbours[side], opposite[side], &requests[side]));
    stop_on(plait_send_layout(runtime, &edge, neighbours[side], side, &requests[side_count + side]));
  }
  plait_region_begin("interior");
  for (row = 2; row < n; ++row) {
    for (i = 2; i < n; ++i) {
      compute(new_cells, old, row, i);
    }
  }
  plait_region_end();
  stop_on(plait_wait_all(2 * side_count, requests, NULL));
  for (i = 1; i <= n; ++i) {
    compute(new_cells, old, 1, i);
    compute(new_cells, old, n, i);
    compute(new_cells, old, i, 1);
    compute(new_cells, old, i, n);
  }
}

/* The whole grid after all steps, by one rank. */
static void compute_sequentially(double (*cells)[2 * n]) {
  enum { m = 2 * n };
  double (*old)[m] = malloc(m * sizeof *old);
  int number, row, column;
  for (row = 0; row < m; ++row) {
    for (column = 0; column < m; ++column) {
      cells[row][column] = first_value(row, column);
    }
  }
  for (number = 0; number < steps; ++number) {
    for (row = 0; row < m * m; ++row) {
      old[row / m][row % m] = cells[row / m][row % m];
    }
    for (row = 0; row < m; ++row) {
      for (column = 0; column < m; ++column) {
        cells[row][column] = average(old[row][(column + m - 1) % m],
                                     old[row][(column + 1) % m],
                                     old[(row + m - 1) % m][column],
                                     old[(row + 1) % m][column]);
      }
    }
  }
  free(old);
}

int main(int argc, char** argv) {
  static block cells[2];
  static double whole[2 * n][2 * n];
  plait_runtime* runtime = NULL;
  plait_group* group = NULL;
  int provided, row, column, i, number, neighbours[side_count];
  int64_t different = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  stop_on(plait_runtime_create(MPI_COMM_WORLD, NULL, &runtime));
  stop_on(plait_group_create(runtime, 0, NULL, &group));
  row = plait_rank(runtime) / 2;
  column = plait_rank(runtime) % 2;
  neighbours[left] = neighbours[right] = row * 2 + 1 - column;
  neighbours[above] = neighbours[below] = (1 - row) * 2 + column;
  for (i = 0; i < n * n; ++i) {
    cells[0][1 + i / n][1 + i % n] = first_value(row * n + i / n, column * n + i % n);
  }
  for (number = 0; number < steps; ++number) {
    step(runtime, neighbours, cells[number % 2], cells[(number + 1) % 2]);
  }
  compute_sequentially(whole);
  for (i = 0; i < n * n; ++i) {
    different += cells[steps % 2][1 + i / n][1 + i % n] != whole[row * n + i / n][column * n + i % n];
  }
  stop_on(plait_all_reduce(group, &different, 1, PLAIT_INT64, PLAIT_SUM, NULL));
  if (plait_rank(runtime) == 0) {
    printf("%d cells, %d steps: %d differ from the sequential result\n", 4 * n * n, steps, (int)different);
  }
  stop_on(plait_group_free(&group));
  stop_on(plait_runtime_free(&runtime));
  MPI_Finalize();
  return 0;
}
