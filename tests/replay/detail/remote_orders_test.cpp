// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/detail/remote_orders.hpp"

#include <algorithm>
#include <chrono>

#include <gtest/gtest.h>

#include "plait/replay/predict/predict_tasks.hpp"
#include "plait/trace/remote_task.hpp"

#include "replay/task_graphs.hpp"

namespace plait::replay::remote_orders_test {
namespace {

nanoseconds us(int time) {
  return microseconds{time};
}

/// Two ranks of a collection. An element of rank 0 runs from 0 to 100 us and sends 1000 bytes after 40, to an element
/// of rank 1, which starts at `start` and runs for 50.
trace::RunTrace recorded(int start) {
  trace::RunTrace run;
  run.meta.workers = 1;
  run.ranks.resize(2);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    trace::RankTrace& trace = run.ranks[rank];
    trace.rank = Rank{rank};
    trace.rank_count = 2;
    trace.threads = {{WorkerId{0}, "worker 0"}, {WorkerId{}, "network"}};
    const int begin = rank == 0 ? 0 : start;
    const int length = rank == 0 ? 100 : 50;
    trace.tasks.push_back({0,
                           {.kind = trace::NameId{0},
                            .ready = us(begin),
                            .start = us(begin),
                            .end = us(begin + length),
                            .id = 7 + rank}});
  }
  run.ranks[1].tasks.push_back({0, {.kind = trace::NameId{0}, .end = us(10), .id = 9}});
  run.ranks[0].messages.push_back({1,
                                   {.direction = trace::MessageDirection::sent,
                                    .protocol = trace::Protocol::active_message,
                                    .peer = Rank{1},
                                    .communicator = 0xffff'fff0,
                                    .bytes = 1000,
                                    .posted = us(40),
                                    .handed = us(40),
                                    .arrived = us(40),
                                    .completed = us(40)}});
  run.ranks[1].task_orders = {{8, us(start + 1), {}, {trace::remote_task(Rank{0}, 7)}}};
  return run;
}

nanoseconds total(const TaskRun& run, const TaskOptions& options = {}) {
  return predict_tasks(run, simple_network(), options).value().total;
}

TEST(RemoteOrders, an_element_starts_when_the_message_has_come_that_left_within_a_task) {
  const TaskRun run = tasks_of_run(recorded(60)).value();
  ASSERT_EQ(run.messages.size(), 1U);
  EXPECT_EQ(run.messages[0].bytes, 1000U);
  const nanoseconds way = us(10) + nanoseconds{999};  // of the network
  EXPECT_EQ(total(run), us(40) + way + us(50));
  // Half as long a task sends in half the time; the tasks of one rank follow each other, without a message.
  EXPECT_EQ(total(run, {.compute_factor = 0.5}), us(20) + way + us(25));
  EXPECT_EQ(total(run, {.ranks = 1}), us(100) + us(10) + us(50));
}

TEST(RemoteOrders, of_a_task_that_is_not_in_the_trace_order_nothing) {
  trace::RunTrace trace = recorded(60);
  trace.ranks[1].task_orders[0].earlier = {trace::remote_task(Rank{0}, 99), trace::remote_task(Rank{5}, 7)};
  EXPECT_TRUE(tasks_of_run(trace).value().messages.empty());
}

TEST(RemoteOrders, take_no_part_in_what_the_network_costs) {
  const TaskRun run = tasks_of_run(recorded(60)).value();
  EXPECT_EQ(run.messages[0].took, nanoseconds{});
  EXPECT_EQ(platform_of(run).within_host.latency_ns, 0);
}

}  // namespace
}  // namespace plait::replay::remote_orders_test
