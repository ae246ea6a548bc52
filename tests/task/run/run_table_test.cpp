// SPDX-License-Identifier: Apache-2.0
#include "plait/task/run/detail/run_table.hpp"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "plait/net/loopback/loopback.hpp"
#include "plait/task/run/detail/scheduler_core.hpp"

namespace plait::task::run_table_test {
namespace {

using detail::RunState;
using detail::RunTable;
using detail::SchedulerCore;

class Table : public testing::Test {
 protected:
  std::shared_ptr<RunState> add() {
    auto run = std::make_shared<RunState>(core_.runs, 1);
    table_.add(run);
    return run;
  }

  net::LoopbackNetwork network_{1};
  SteadyClock clock_;
  trace::Recorder recorder_{clock_};
  std::unique_ptr<net::Driver> driver_ = network_.driver(Rank{0});
  comm::Endpoint endpoint_{*driver_, recorder_};
  SchedulerCore core_{endpoint_, recorder_, {}};
  RunTable table_;
};

TEST_F(Table, leads_from_an_epoch_to_its_run) {
  const auto first = add();
  const auto second = add();
  EXPECT_NE(first->epoch, second->epoch);
  EXPECT_EQ(&table_.find(first->epoch), first.get());
  EXPECT_EQ(&table_.find(second->epoch), second.get());
  EXPECT_TRUE(table_.has_several());
  EXPECT_EQ(table_.remove(*first), first);
  EXPECT_FALSE(table_.has_several());
  EXPECT_EQ(&table_.find(second->epoch), second.get());
}

TEST_F(Table, passes_over_places_that_are_taken_and_never_gives_an_epoch_twice) {
  const auto kept = add();
  std::vector<std::uint32_t> epochs{kept->epoch};
  for (int i = 0; i < 200; ++i) {
    const auto run = add();
    EXPECT_NE(run->epoch % RunTable::runs_max, kept->epoch % RunTable::runs_max);
    EXPECT_GT(run->epoch, epochs.back());
    epochs.push_back(run->epoch);
    table_.remove(*run);
  }
}

TEST_F(Table, has_work_from_when_a_run_is_let_in_until_it_is_removed) {
  const auto first = add();
  const auto second = add();
  EXPECT_FALSE(table_.has_work());
  table_.let_in(*second);
  EXPECT_TRUE(table_.has_work());
  table_.remove(*first);
  EXPECT_TRUE(table_.has_work());
  table_.remove(*second);
  EXPECT_FALSE(table_.has_work());
}

TEST_F(Table, visits_each_open_run_and_refuses_more_than_it_has_places) {
  std::vector<std::shared_ptr<RunState>> runs;
  for (std::uint32_t i = 0; i < RunTable::runs_max; ++i) {
    runs.push_back(add());
  }
  EXPECT_THROW(add(), Error);
  std::uint32_t visited = 0;
  table_.for_each([&](RunState& run) {
    ++visited;
    table_.remove(run);
  });
  EXPECT_EQ(visited, RunTable::runs_max);
  EXPECT_TRUE(table_.is_empty());
}

}  // namespace
}  // namespace plait::task::run_table_test
