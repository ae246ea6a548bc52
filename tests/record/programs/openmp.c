/* SPDX-License-Identifier: Apache-2.0 */
/* Parallel regions of OpenMP: three times two threads of which the second works longer. */
#include <omp.h>

#include <mpi.h>

static double work(int count) {
  volatile double sum = 0;
  for (int i = 0; i < count; ++i) {
    sum += 1.0 / (1.0 + i);
  }
  return sum;
}

int main(int argc, char** argv) {
  double sum = 0;
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  for (int step = 0; step < 3; ++step) {
#pragma omp parallel num_threads(2) reduction(+ : sum)
    {
      sum += work(omp_get_thread_num() == 0 ? 1000 : 2000000);
#pragma omp barrier
    }
  }
  MPI_Finalize();
  return sum > 0 ? 0 : 1;
}
