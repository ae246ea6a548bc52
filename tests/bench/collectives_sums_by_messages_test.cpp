// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>
#include <mpi.h>

#include "collectives/sums_by_messages.hpp"

namespace bench::collectives_sums_by_messages_test {
namespace {

/// Whole numbers, whose sums have no rounding, in as many blocks as there are ranks.
class SumsTest : public testing::TestWithParam<std::size_t> {
 protected:
  SumsTest() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    for (std::size_t i = 0; i < GetParam() * static_cast<std::size_t>(size_); ++i) {
      blocks_.push_back(static_cast<double>((i + 1) * static_cast<std::size_t>(rank_ + 3) % 1009));
    }
    own_ = {blocks_.begin(), blocks_.begin() + static_cast<std::ptrdiff_t>(GetParam())};
    sums_.assign(GetParam(), -1);
    wanted_ = sums_;
  }
  [[nodiscard]] int count() const { return static_cast<int>(GetParam()); }

  int rank_ = 0;
  int size_ = 0;
  std::vector<double> blocks_;
  std::vector<double> own_;
  std::vector<double> sums_;
  std::vector<double> wanted_;
  SumsByMessages by_messages_{MPI_COMM_WORLD};
};

TEST_P(SumsTest, scan_is_that_of_mpi) {
  by_messages_.scan(own_, sums_);
  MPI_Scan(own_.data(), wanted_.data(), count(), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_EQ(sums_, wanted_);
}

TEST_P(SumsTest, exscan_is_that_of_mpi_and_leaves_the_first_rank_alone) {
  by_messages_.exscan(own_, sums_);
  MPI_Exscan(own_.data(), wanted_.data(), count(), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (rank_ == 0) {
    wanted_.assign(GetParam(), -1);
  }
  EXPECT_EQ(sums_, wanted_);
}

TEST_P(SumsTest, reduce_scatter_is_that_of_mpi) {
  by_messages_.reduce_scatter(blocks_, sums_);
  MPI_Reduce_scatter_block(blocks_.data(), wanted_.data(), count(), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_EQ(sums_, wanted_);
}

INSTANTIATE_TEST_SUITE_P(Elements, SumsTest, testing::Values(1, 7, 4096));

}  // namespace
}  // namespace bench::collectives_sums_by_messages_test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  MPI_Init(&argc, &argv);
  int status = RUN_ALL_TESTS();
  MPI_Allreduce(MPI_IN_PLACE, &status, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return status;
}
