// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <utility>

#include <gtest/gtest.h>

#include "plait/plait.h"

/// What tests of plait.h share: a runtime over all ranks, and a main program.
namespace plait::c::test {

/// A runtime for one test, of two workers.
class CRuntime : public testing::Test {
 protected:
  void SetUp() override {
    plait_options options;
    ASSERT_EQ(plait_options_init(&options, sizeof options), PLAIT_SUCCESS);
    options.workers = 2;
    options.stall_seconds = 60;
    ASSERT_EQ(plait_runtime_create(MPI_COMM_WORLD, &options, &runtime), PLAIT_SUCCESS) << plait_last_error();
    rank = plait_rank(runtime);
    ranks = plait_rank_count(runtime);
    next = (rank + 1) % ranks;
    last = (rank + ranks - 1) % ranks;
  }
  void TearDown() override {
    EXPECT_EQ(plait_runtime_free(&runtime), PLAIT_SUCCESS);
    EXPECT_EQ(runtime, nullptr);
  }

  plait_runtime* runtime = nullptr;
  int rank = 0;
  int ranks = 1;
  int next = 0;
  int last = 0;
};

/// Runs all tests on all ranks; fails when those of any rank do.
inline int run_on_ranks(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  testing::InitGoogleTest(&argc, argv);
  int failed = RUN_ALL_TESTS();
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return failed != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

}  // namespace plait::c::test
