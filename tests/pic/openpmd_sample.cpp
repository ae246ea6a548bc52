// SPDX-License-Identifier: Apache-2.0
// Usage: pic_openpmd_sample FOLDER. Writes one file of openPMD there, for readers that others wrote.
#include "pic/openpmd_sample.hpp"

#include <cstdio>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int status = 1;
  if (argc == 2) {
    const pic::test::OpenPmdSample sample{static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(ranks)};
    const auto written = pic::write_openpmd(pic::output_file(argv[1], sample.step.step), sample.step, MPI_COMM_WORLD);
    status = written ? 0 : 1;
    if (!written && rank == 0) {
      std::fprintf(stderr, "%s\n", written.error().what());
    }
  }
  MPI_Finalize();
  return status;
}
