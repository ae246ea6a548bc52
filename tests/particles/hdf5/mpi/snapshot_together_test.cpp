// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/hdf5/mpi/snapshot_together.hpp"

#include <string>
#include <unistd.h>

#include <gtest/gtest.h>
#include <hdf5.h>

#include "particles/hdf5/sample.hpp"

namespace plait::particles::hdf5 {
namespace {

using test::Sample;

class SnapshotTogether : public testing::Test {
 protected:
  void SetUp() override {
#ifndef H5_HAVE_PARALLEL
    GTEST_SKIP() << "this HDF5 has no parallel I/O";
#endif
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    int process = static_cast<int>(getpid());
    MPI_Bcast(&process, 1, MPI_INT, 0, MPI_COMM_WORLD);
    file_ = std::filesystem::temp_directory_path() / ("plait-particles-" + std::to_string(process) + ".hdf5");
    if (rank_ == 0) {
      part_.fill(0, ranks_ > 2 ? 130 : 400);
    } else if (rank_ == 2) {
      part_.fill(130, 400);
    }
  }
  void TearDown() override {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_ == 0) {
      std::filesystem::remove(file_);
    }
  }
  int rank_ = 0;
  int ranks_ = 1;
  std::filesystem::path file_;
  Sample part_;  ///< Unequal; the second rank has nothing.
};

TEST_F(SnapshotTogether, gives_each_rank_back_what_it_held) {
  SnapshotHeader header;
  header.time = 0.25;
  ASSERT_TRUE(write_snapshot(file_, header, part_.layout(), part_.particles, MPI_COMM_WORLD));
  Sample read;
  const SnapshotInfo info =
      read_snapshot(
          file_, read.layout(), read.particles, static_cast<std::uint32_t>(rank_), static_cast<std::uint32_t>(ranks_))
          .value();
  EXPECT_EQ(info.totals[0] + info.totals[1], 400U);
  EXPECT_EQ(info.header.time, 0.25);
  ASSERT_EQ(read.particles.size(), part_.particles.size());
  const std::size_t half = read.particles.size() / 2;
  for (std::size_t i = 0; i < read.particles.size(); ++i) {
    const std::size_t from = i < half ? 2 * i : 2 * (i - half) + 1;
    EXPECT_EQ(read.particles.ids()[i], part_.particles.ids()[from]);
    EXPECT_EQ(read.particles.positions()[i], part_.particles.positions()[from]);
    EXPECT_EQ(read.particles[read.mass][i], part_.particles[part_.mass][from]);
  }
}

TEST_F(SnapshotTogether, that_cannot_be_written_is_the_same_error_on_all_ranks) {
  auto written = write_snapshot("/nowhere/at/all/a.hdf5", {}, part_.layout(), part_.particles, MPI_COMM_WORLD);
  ASSERT_FALSE(written);
  EXPECT_NE(std::string{written.error().what()}.find("/nowhere/at/all/a.hdf5"), std::string::npos);
}

TEST_F(SnapshotTogether, of_a_bad_kind_on_one_rank_is_the_same_error_on_all_ranks) {
  if (rank_ == 0) {
    part_.particles[Particles::kind][3] = 40;
  }
  auto written = write_snapshot(file_, {}, part_.layout(), part_.particles, MPI_COMM_WORLD);
  ASSERT_FALSE(written);
  EXPECT_NE(std::string{written.error().what()}.find("particle 4 is of kind 40"), std::string::npos);
}

}  // namespace
}  // namespace plait::particles::hdf5

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  int failed = RUN_ALL_TESTS();
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return failed;
}
