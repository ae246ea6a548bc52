// SPDX-License-Identifier: Apache-2.0
#include "ring/snapshot_parallel.hpp"

#include <cstring>
#include <string>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <hdf5.h>

#include "ring/initial_condition.hpp"

namespace ring {
namespace {

class ParallelSnapshot : public testing::Test {
 protected:
  void SetUp() override {
#ifndef H5_HAVE_PARALLEL
    GTEST_SKIP() << "this HDF5 has no parallel I/O";
#endif
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
    int process = static_cast<int>(getpid());
    MPI_Bcast(&process, 1, MPI_INT, 0, MPI_COMM_WORLD);
    file_ = std::filesystem::temp_directory_path() / ("plait-ring-" + std::to_string(process) + ".hdf5");
  }
  void TearDown() override {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_ == 0) {
      std::filesystem::remove(file_);
    }
  }
  /// Unequal parts of a ring; the second rank has nothing.
  std::vector<Body> part() const {
    RingShape shape;
    shape.azimuthal = 20;
    const std::uint64_t n = body_count(shape);
    const std::uint64_t cut = n / 3;
    if (rank_ == 0) {
      return make_ring(shape, 0, ranks_ > 2 ? cut : n);
    }
    return rank_ == 2 ? make_ring(shape, cut, n) : std::vector<Body>{};
  }
  int rank_ = 0;
  int ranks_ = 1;
  std::filesystem::path file_;
};

TEST_F(ParallelSnapshot, gives_each_rank_back_what_it_held) {
  const std::vector<Body> bodies = part();
  RunState state;
  state.time = 0.25;
  ASSERT_TRUE(write_snapshot(file_, state, bodies, MPI_COMM_WORLD));
  const Snapshot read =
      read_snapshot(file_, static_cast<std::uint32_t>(rank_), static_cast<std::uint32_t>(ranks_)).value();
  EXPECT_EQ(read.total, 400U);
  EXPECT_EQ(read.state.time, 0.25);
  ASSERT_EQ(read.bodies.size(), bodies.size());
  if (!bodies.empty()) {
    EXPECT_EQ(std::memcmp(read.bodies.data(), bodies.data(), bodies.size() * sizeof(Body)), 0);
  }
}

TEST_F(ParallelSnapshot, is_the_same_file_content_as_one_process_writes) {
  ASSERT_TRUE(write_snapshot(file_, {}, part(), MPI_COMM_WORLD));
  RingShape shape;
  shape.azimuthal = 20;
  const std::vector<Body> whole = make_ring(shape);
  const Snapshot read = read_snapshot(file_).value();
  ASSERT_EQ(read.bodies.size(), whole.size());
  EXPECT_EQ(std::memcmp(read.bodies.data(), whole.data(), whole.size() * sizeof(Body)), 0);
}

TEST_F(ParallelSnapshot, that_cannot_be_written_is_the_same_error_on_all_ranks) {
  auto written = write_snapshot("/nowhere/at/all/ring.hdf5", {}, part(), MPI_COMM_WORLD);
  ASSERT_FALSE(written);
  EXPECT_NE(std::string{written.error().what()}.find("/nowhere/at/all/ring.hdf5"), std::string::npos);
}

}  // namespace
}  // namespace ring

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  int failed = RUN_ALL_TESTS();
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return failed;
}
