// SPDX-License-Identifier: Apache-2.0
#include "plait/testing/run_program.hpp"

#include <atomic>
#include <stdexcept>

#include <gtest/gtest.h>

#include "plait/runtime/gather.hpp"

namespace plait::test::run_program_test {
namespace {

TEST(RunProgram, gives_each_rank_a_runtime) {
  std::atomic<std::uint32_t> sum = 0;
  const World world{.ranks = 3, .network = net::SimOptions{.seed = 2, .delay_max = nanoseconds{3000}}};
  run_program(world, {.worker_count = 2}, [&](Runtime& runtime) {
    EXPECT_EQ(runtime.worker_count(), 2U);
    for (const std::uint32_t value : all_gather_values(runtime.messages(), runtime.self().value())) {
      sum += value;
    }
  });
  EXPECT_EQ(sum, 3 * (0 + 1 + 2));
}

TEST(RunProgram, throws_what_one_rank_threw_although_others_wait_for_it) {
  EXPECT_THROW(run_program({.ranks = 2},
                           [](Runtime& runtime) {
                             if (runtime.self() == Rank{1}) {
                               throw std::out_of_range{"no such particle"};
                             }
                             Bytes never;
                             runtime.messages().receive({Rank{1}, Tag{1}}, never).wait();
                           }),
               std::out_of_range);
}

}  // namespace
}  // namespace plait::test::run_program_test
