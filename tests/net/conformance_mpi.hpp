// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <tuple>

#include <gtest/gtest.h>
#include <mpi.h>

#include "plait/net/mpi/session.hpp"

#include "net/conformance.hpp"

/// How the conformance cases are played under MPI: each rank plays its own part. A failure on one rank is one on all,
/// and a rank that throws or hangs takes the others down.
namespace plait::net::conformance {

/// Longer than any case takes, with four ranks on two slow cores under a sanitizer.
inline constexpr std::chrono::seconds case_time_max{60};

/// A rank that hangs while the others are done would do so for ever.
inline void end_all_when_late(std::chrono::steady_clock::time_point start, const char* what) {
  if (std::chrono::steady_clock::now() - start > case_time_max) {
    std::fprintf(stderr, "the case hangs: %s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

/// Plays this rank's part of a case, then goes on polling until all ranks have played theirs. `poll` polls the player.
/// `start`: before its driver was made.
inline void play_on_mpi(Player& player,
                        const Case& played,
                        const Terms& terms,
                        std::chrono::steady_clock::time_point start,
                        const std::function<void()>& poll) {
  Part part = played.play(player, terms);
  while (!part.is_over() || !player.driver().is_idle()) {
    end_all_when_late(start, "this rank waits for something");
    poll();
    if (!part.is_over()) {
      part.step();
    }
  }
  player.arrivals.clear();
  player.done.clear();
  MPI_Request all_are_done = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &all_are_done);
  for (int is_over = 0; is_over == 0; MPI_Test(&all_are_done, &is_over, MPI_STATUS_IGNORE)) {
    end_all_when_late(start, "another rank waits for something");
    poll();
  }
  EXPECT_TRUE(player.arrivals.empty()) << "something arrived that no rank sent";
  EXPECT_TRUE(player.done.empty()) << "something was completed twice";
}

/// The whole of `main`: the tests fail on all ranks when they fail on one.
inline int run_tests_on_mpi(int argc, char** argv) {
  const MpiSession session{argc, argv};
  testing::InitGoogleTest(&argc, argv);
  int failed = RUN_ALL_TESTS();
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return failed;
}

}  // namespace plait::net::conformance
