// SPDX-License-Identifier: Apache-2.0
#include "plait/task/detail/role.hpp"

#include <atomic>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "plait/net/loopback/loopback.hpp"
#include "plait/task/graph.hpp"
#include "plait/task/run/detail/lifecycle.hpp"
#include "plait/task/scheduler.hpp"
#include "plait/task/waiting.hpp"

namespace plait::task::role_test {
namespace {

using detail::Lifecycle;
using detail::Node;
using detail::Role;
using detail::Worker;

/// A role that the library does not know: a device works on the task, then its body is executed. `Node::object` counts
/// what the device has done.
const Role device{
    .name = "device",
    .ready = [](Lifecycle& lifecycle,
                Worker& /*worker*/,
                Node& node) { std::jthread{[&] { ++node.object; }}.join(), lifecycle.note(node); },
    .noted = [](Lifecycle& lifecycle, Worker& worker, Node& node) { lifecycle.execute_body_or_finish(worker, node); },
    .waits_for = [](const Node& /*node*/) { return std::string{"for the device"}; }};

TEST(Role, of_a_made_up_kind_lives_in_a_graph_among_the_others) {
  net::LoopbackNetwork network{1};
  SteadyClock clock;
  trace::Recorder recorder{clock};
  const auto driver = network.driver(Rank{0});
  comm::Endpoint endpoint{*driver, recorder};
  Scheduler scheduler{endpoint, recorder, {.worker_count = 2}};
  Graph graph;
  std::atomic<int> order = 0;
  int at_body = 0;
  int at_end = 0;
  Task first = graph.task("first", [&] { ++order; });
  Task middle = graph.task("middle", [&] { at_body = ++order; });
  middle.after(first).node().role = device;
  graph.task("last", [&] { at_end = ++order; }).after(middle);
  for (int step = 1; step <= 3; ++step) {
    scheduler.run(graph);
    EXPECT_EQ(at_body, 3 * step - 1);
    EXPECT_EQ(at_end, 3 * step);
  }
  EXPECT_EQ(middle.node().object, 3U);
}

TEST(Role, says_what_a_task_waits_for) {
  Graph graph;
  graph.task("kernel", [] {}).node().role = device;
  graph.prepare();
  graph.all()[0].node().unfinished = 1;
  EXPECT_EQ(describe_waiting(graph.all(), graph.kinds()), "kernel (for the device)");
}

}  // namespace
}  // namespace plait::task::role_test
