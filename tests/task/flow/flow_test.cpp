// SPDX-License-Identifier: Apache-2.0
#include "plait/task/flow/flow.hpp"

#include <gtest/gtest.h>

#include "plait/task/flow/data_grid.hpp"

#include "task/flow/flow_ranks.hpp"

namespace plait::task {
namespace {

TEST(Flow, thin) {
  test::run_ranks(1, {}, [](test::FlowRank& rank) {
    Flow flow{rank};
    const Data<int> a = flow.data<int>(Rank{0}, 4);
    flow.submit([](std::span<int> values) { values[0] = 3; }, w(a));
    flow.submit([](std::span<int> values) { values[0] *= 7; }, rw(a));
    flow.wait();
    EXPECT_EQ(a.local()[0], 21);
  });
  test::run_ranks(2, {}, [](test::FlowRank& rank) {
    Flow flow{rank};
    const Data<int> a = flow.data<int>(Rank{0}, 4);
    const Data<int> b = flow.data<int>(Rank{1}, 4);
    flow.submit([](std::span<int> values) { values[0] = 3; }, w(a));
    flow.submit([](std::span<const int> from, std::span<int> to) { to[0] = from[0] * 7; }, r(a), w(b));
    flow.wait();
    if (flow.self() == Rank{1}) {
      EXPECT_EQ(b.local()[0], 21);
    }
  });
}

}  // namespace
}  // namespace plait::task
