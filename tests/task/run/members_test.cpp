// SPDX-License-Identifier: Apache-2.0
// The members of a scheduler that have no test file of their own, each without the others.
#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/net/loopback/loopback.hpp"
#include "plait/task/run/detail/costs.hpp"
#include "plait/task/run/detail/message_tasks.hpp"
#include "plait/task/run/detail/scheduler_core.hpp"
#include "plait/task/run/detail/watch.hpp"

namespace plait::task::members_test {
namespace {

using detail::Node;
using detail::NodeMessage;
using detail::RunState;
using detail::SchedulerCore;
using detail::Worker;
using std::chrono::microseconds;
using std::chrono::seconds;

/// One rank's endpoint and scheduler.
struct Part {
  Part(net::LoopbackNetwork& network, Rank rank, nanoseconds stall_max = {})
      : driver{network.driver(rank)}, core{endpoint, recorder, {.worker_count = 1, .stall_max = stall_max}} {}

  [[nodiscard]] Worker& worker() { return *core.state.workers.front(); }

  SteadyClock clock;
  trace::Recorder recorder{clock};
  std::unique_ptr<net::Driver> driver;
  comm::Endpoint endpoint{*driver, recorder};
  SchedulerCore core;
};

// ---- costs ----

/// A worker that has entered a run with two kinds of tasks.
struct Measured : Part {
  explicit Measured(net::LoopbackNetwork& network) : Part{network, Rank{0}}, run{core.runs.open(nullptr, {})} {
    core.state.enter(worker(), run->epoch);
    worker().share->kind_cost_ns = {0, 0};
  }
  ~Measured() { core.runs.close(*run), core.runs.wait(*run); }

  std::shared_ptr<RunState> run;
};

TEST(Costs, are_means_of_the_task_and_of_its_kind) {
  net::LoopbackNetwork network{1};
  Measured part{network};
  Node node{TaskKind{0}};
  detail::learn(part.worker(), node, microseconds{8});
  EXPECT_FLOAT_EQ(node.cost_ns, 8'000);
  detail::learn(part.worker(), node, microseconds{16});
  EXPECT_FLOAT_EQ(node.cost_ns, 10'000);
  EXPECT_FLOAT_EQ(part.worker().share->kind_cost_ns[0], 9'000);
  EXPECT_FLOAT_EQ(part.worker().share->kind_cost_ns[1], 0);
}

TEST(Costs, bound_what_one_descheduled_task_counts) {
  net::LoopbackNetwork network{1};
  Measured part{network};
  Node node{TaskKind{0}};
  detail::learn(part.worker(), node, microseconds{1});
  detail::learn(part.worker(), node, seconds{10});
  EXPECT_LT(node.cost_ns, 10'000);
}

TEST(Costs, of_short_tasks_are_measured_one_in_sixteen_times) {
  net::LoopbackNetwork network{1};
  Measured part{network};
  Node node{TaskKind{0}};
  EXPECT_TRUE(detail::must_measure(part.worker(), node));
  detail::learn(part.worker(), node, nanoseconds{100});
  int count = 0;
  for (int i = 0; i < 160; ++i) {
    count += detail::must_measure(part.worker(), node) ? 1 : 0;
  }
  EXPECT_EQ(count, 10);
}

// ---- message tasks ----

TEST(MessageTasks, send_equal_data_as_one_multicast_and_other_data_apart) {
  net::LoopbackNetwork network{3};
  Part sender{network, Rank{0}};
  Part first{network, Rank{1}};
  Part second{network, Rank{2}};
  const std::array<std::byte, 4> data{std::byte{7}};
  const std::array<std::byte, 4> other{std::byte{9}};
  detail::MessageTasks messages{sender.core.state};
  Node node{TaskKind{0}};
  std::vector<std::unique_ptr<NodeMessage>> sends;
  const auto add = [&](Rank to, Tag tag, const std::array<std::byte, 4>& what) {
    sends.push_back(std::make_unique<NodeMessage>(node));
    sends.back()->address = {.rank = to, .tag = tag};
    sends.back()->data = [&what] { return std::span<const std::byte>{what}; };
    sender.worker().sends.push_back(sends.back().get());
  };
  add(Rank{1}, Tag{1}, data);
  add(Rank{2}, Tag{1}, data);
  add(Rank{1}, Tag{2}, other);
  messages.post_sends(sender.worker());
  EXPECT_TRUE(sender.worker().sends.empty());
  std::array<std::byte, 4> got{};
  const auto expect_from = [&](Part& part, Tag tag, std::byte value) {
    comm::Request request = part.endpoint.receive({.rank = Rank{0}, .tag = tag}, got);
    while (!request.test()) {
      (void)sender.endpoint.progress();
      (void)first.endpoint.progress();
      (void)second.endpoint.progress();
    }
    EXPECT_EQ(got.front(), value);
  };
  expect_from(first, Tag{1}, std::byte{7});
  expect_from(second, Tag{1}, std::byte{7});
  expect_from(first, Tag{2}, std::byte{9});

  EXPECT_EQ(sends[0]->status.error, std::nullopt);
  EXPECT_FALSE(sender.core.state.failure.has_failed());
}

// ---- watch ----

TEST(Watch, fails_a_run_that_a_thread_waits_for_and_that_does_not_move) {
  net::LoopbackNetwork network{1};
  Part part{network, Rank{0}, seconds{10}};
  const std::shared_ptr<RunState> run = part.core.runs.open(nullptr, [] { return std::string{"the tide"}; });
  detail::Watch watch{part.core.state};
  part.worker().now = seconds{100};
  watch.check(part.worker());
  part.worker().now = seconds{200};
  watch.check(part.worker());
  EXPECT_FALSE(part.core.state.failure.has_failed()) << "no thread waits";
  run->waiting_threads = 1;
  watch.check(part.worker());
  part.worker().now = seconds{205};
  EXPECT_TRUE(watch.is_due(seconds{205}));
  watch.check(part.worker());
  EXPECT_FALSE(part.core.state.failure.has_failed()) << "not yet";
  run->shares[0].ended.fetch_add(1);  // a task has ended
  part.worker().now = seconds{211};
  watch.check(part.worker());
  EXPECT_FALSE(part.core.state.failure.has_failed()) << "it moves";
  part.worker().now = seconds{222};
  watch.check(part.worker());
  ASSERT_TRUE(part.core.state.failure.has_failed());
  EXPECT_NE(std::string{part.core.state.failure.error().what()}.find("the tide"), std::string::npos);
}

}  // namespace
}  // namespace plait::task::members_test
