// SPDX-License-Identifier: Apache-2.0
#include "plait/task/graph.hpp"

#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/task/detail/node.hpp"

namespace plait::task::graph_test {
namespace {

TEST(Graph, gives_a_kind_one_number_whatever_number_of_tasks_it_has) {
  Graph graph;
  const Task first = graph.task("drift", [] {});
  const Task second = graph.task("drift", [] {});
  graph.task("kick", [] {});
  EXPECT_EQ(first.node().kind, second.node().kind);
  EXPECT_EQ(graph.kinds(), (std::vector<std::string>{"drift", "kick"}));
}

TEST(Graph, weighs_a_task_by_the_longest_way_to_the_end) {
  Graph graph;
  Task start = graph.task("start", [] {});
  Task slow = graph.task("slow", [] {});
  Task quick = graph.task("quick", [] {});
  Task end = graph.task("end", [] {});
  start.cost(nanoseconds{1}).before(slow);
  start.before(quick);
  slow.cost(nanoseconds{100}).before(end);
  quick.cost(nanoseconds{10}).before(end);
  end.cost(nanoseconds{1000});
  graph.prepare();
  EXPECT_EQ(start.node().weight_ns, 1101.0F);
  EXPECT_EQ(slow.node().weight_ns, 1100);
  EXPECT_EQ(quick.node().weight_ns, 1010);
}

TEST(Graph, names_the_tasks_of_a_cycle) {
  Graph graph;
  Task before = graph.task("before", [] {});
  Task tree = graph.task("tree", [] {});
  Task force = graph.task("force", [] {});
  Task kick = graph.task("kick", [] {});
  Task behind = graph.task("behind", [] {});
  tree.after(before).after(kick);
  force.after(tree);
  kick.after(force);
  behind.after(kick);
  try {
    graph.prepare();
    FAIL() << "a cycle cannot be run";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_argument);
    EXPECT_STREQ(error.what(),
                 "these tasks depend on each other in a cycle, remove one dependency: tree -> force -> kick -> tree");
  }
}

TEST(Graph, notices_a_dependency_that_is_added_after_a_run) {
  Graph graph;
  Task first = graph.task("first", [] {});
  Task second = graph.task("second", [] {});
  second.after(first);
  graph.prepare();
  first.after(second);
  EXPECT_THROW(graph.prepare(), Error);
}

}  // namespace
}  // namespace plait::task::graph_test
