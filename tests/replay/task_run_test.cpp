// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/task_run.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/replay/from_trace.hpp"
#include "plait/replay/predict/predict_tasks.hpp"

namespace plait::replay::task_run_test {
namespace {

using trace::TaskRole;

/// A task of a trace; times in microseconds.
struct Traced {
  std::uint64_t id = 0;
  int ready = 0;
  int start = 0;
  int end = 0;
  std::uint64_t released_by = 0;
  std::uint32_t place = 0;
  std::uint32_t step = 0;
};

nanoseconds us(int time) {
  return nanoseconds{1000 * time};
}

/// Writes down what ranks of one worker did, as a recorder would.
class RecordedTasks {
 public:
  explicit RecordedTasks(std::uint32_t ranks) {
    run_.meta.workers = 1;
    run_.ranks.resize(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      run_.ranks[rank].rank = Rank{rank};
      run_.ranks[rank].rank_count = ranks;
      run_.ranks[rank].threads.push_back({WorkerId{0}, "worker 0"});
    }
  }

  void task(std::uint32_t rank, const Traced& task, TaskRole role = TaskRole::compute, std::uint64_t object = 0) {
    run_.ranks[rank].tasks.push_back({0,
                                      {.kind = trace::NameId{0},
                                       .role = role,
                                       .object = object,
                                       .ready = us(task.ready),
                                       .start = us(task.start),
                                       .end = us(task.end),
                                       .id = task.id,
                                       .released_by = task.released_by,
                                       .step = task.step,
                                       .place = task.place}});
  }
  void graph(std::uint32_t rank, const std::vector<TaskRole>& roles, const std::vector<trace::Dependency>& edges) {
    for (std::uint32_t place = 1; place <= roles.size(); ++place) {
      run_.ranks[rank].graph_tasks.push_back({1, place, roles[place - 1], trace::NameId{0}});
    }
    run_.ranks[rank].dependencies = edges;
  }
  void graph_run(std::uint32_t rank, std::uint32_t step, int start) {
    run_.ranks[rank].graph_runs.push_back({.graph = 1, .step = step, .start = us(start)});
  }
  void message(std::uint32_t rank, trace::MessageDirection direction, std::uint32_t peer, int posted, int completed) {
    run_.ranks[rank].messages.push_back({0,
                                         {.direction = direction,
                                          .peer = Rank{peer},
                                          .communicator = 3,
                                          .sequence = 5,
                                          .tag = Tag{7},
                                          .bytes = 100,
                                          .posted = us(posted),
                                          .handed = us(posted),
                                          .arrived = us(completed),
                                          .completed = us(completed)}});
  }
  void flow_task(std::uint64_t id, int submitted, const std::vector<std::uint32_t>& accesses, std::uint32_t flow = 0) {
    run_.ranks[0].flow_tasks.push_back(
        {.communicator = flow, .id = id, .submitted = us(submitted), .accesses = accesses});
  }

  [[nodiscard]] trace::RunTrace& trace() { return run_; }
  [[nodiscard]] TaskRun get(StepRange steps = {}) { return tasks_of_run(run_, steps).value(); }

 private:
  trace::RunTrace run_;
};

/// The node of the task that started at a time.
std::uint32_t node_at(const TaskRun& run, int start, NodeRole role = NodeRole::task) {
  const auto found = std::ranges::find_if(
      run.nodes, [&](const RunNode& node) { return node.role == role && node.start == us(start); });
  return static_cast<std::uint32_t>(found - run.nodes.begin());
}

/// Whether one node waits for another, by way of joins.
bool waits_for(const TaskRun& run, std::uint32_t later, std::uint32_t earlier) {
  return std::ranges::any_of(run.later.of(earlier), [&](std::uint32_t next) {
    return next == later || (run.nodes[next].role == NodeRole::join && waits_for(run, later, next));
  });
}

nanoseconds total(const TaskRun& run, const TaskOptions& options = {}) {
  return predict_tasks(run, platform_of(run), options).value().total;
}

TEST(TasksOfRun, places_of_two_flows_with_one_number_are_two) {
  constexpr std::uint32_t writes_place_1 = 1U << 2U | 1U;
  for (const std::uint32_t other : {7U, 8U}) {
    RecordedTasks recorded{1};
    recorded.task(0, {.id = 1, .ready = 0, .start = 0, .end = 10});
    recorded.task(0, {.id = 2, .ready = 0, .start = 20, .end = 30});
    recorded.flow_task(1, 0, {writes_place_1}, 7);
    recorded.flow_task(2, 1, {writes_place_1}, other);
    const TaskRun run = recorded.get();
    EXPECT_EQ(waits_for(run, node_at(run, 20), node_at(run, 0)), other == 7);
  }
}

TEST(TasksOfRun, a_graph_orders_its_tasks_also_by_joins) {
  RecordedTasks recorded{1};
  recorded.graph(
      0, {TaskRole::compute, TaskRole::compute, TaskRole::join, TaskRole::compute}, {{1, 1, 3}, {1, 2, 3}, {1, 3, 4}});
  recorded.graph_run(0, 0, 0);
  recorded.task(0, {.id = 1, .ready = 0, .start = 0, .end = 10, .place = 1});
  recorded.task(0, {.id = 2, .ready = 0, .start = 10, .end = 30, .place = 2});
  recorded.task(0, {.id = 4, .ready = 30, .start = 30, .end = 35, .released_by = 2, .place = 4});
  const TaskRun run = recorded.get();
  EXPECT_TRUE(waits_for(run, node_at(run, 30), node_at(run, 0)));
  EXPECT_TRUE(waits_for(run, node_at(run, 30), node_at(run, 10)));
  EXPECT_FALSE(waits_for(run, node_at(run, 10), node_at(run, 0)));
  EXPECT_EQ(total(run), us(35));
  EXPECT_EQ(total(run, {.workers = 2}), us(25));
}

TEST(TasksOfRun, the_next_run_of_a_graph_waits_for_the_one_before_and_for_the_program) {
  RecordedTasks recorded{1};
  recorded.graph(0, {TaskRole::compute, TaskRole::compute}, {});
  recorded.graph_run(0, 0, 0);
  recorded.task(0, {.id = 1, .ready = 0, .start = 0, .end = 10, .place = 1});
  recorded.task(0, {.id = 2, .ready = 0, .start = 10, .end = 20, .place = 2});
  recorded.graph_run(0, 1, 50);  // the program takes 30 us
  recorded.task(0, {.id = 3, .ready = 50, .start = 50, .end = 60, .place = 1, .step = 1});
  const TaskRun run = recorded.get();
  EXPECT_EQ(total(run), us(60));
  EXPECT_EQ(total(run, {.workers = 2}), us(50));
  EXPECT_EQ(total(run, {.program_factor = 0.5}), us(45));
}

TEST(TasksOfRun, executions_come_after_those_that_were_recorded_before_them) {
  RecordedTasks recorded{1};
  // An element takes what two others have sent; the first of them goes on later.
  recorded.task(0, {.id = 1, .ready = 0, .start = 0, .end = 10});
  recorded.task(0, {.id = 2, .ready = 0, .start = 10, .end = 20});
  recorded.task(0, {.id = 3, .ready = 0, .start = 20, .end = 30});
  recorded.task(0, {.id = 3, .ready = 30, .start = 30, .end = 35});
  recorded.task(0, {.id = 1, .ready = 35, .start = 35, .end = 40});
  recorded.trace().ranks[0].task_orders = {{3, us(34), {}, {1, 2, 99}}, {1, us(38), {}, {3}}};
  const TaskRun run = recorded.get();
  EXPECT_TRUE(waits_for(run, node_at(run, 30), node_at(run, 0)));
  EXPECT_TRUE(waits_for(run, node_at(run, 30), node_at(run, 10)));
  EXPECT_FALSE(waits_for(run, node_at(run, 20), node_at(run, 10)));
  EXPECT_FALSE(waits_for(run, node_at(run, 30), node_at(run, 35))) << "that execution was later";
  EXPECT_EQ(total(run, {.workers = 2}), us(30));
}

TEST(TasksOfRun, deferred_tasks_start_after_the_program_submits_them) {
  RecordedTasks recorded{1};
  recorded.task(0, {.id = 1, .ready = 0, .start = 0, .end = 10});
  recorded.task(0, {.id = 2, .ready = 15, .start = 15, .end = 20});
  recorded.trace().ranks[0].task_orders = {{1, us(5), us(0), {}}, {2, us(16), us(15), {1}}};
  const TaskRun run = recorded.get();
  EXPECT_EQ(total(run), us(20));
  EXPECT_EQ(total(run, {.kind_factor = {0.5}}), nanoseconds{12'500}) << "5 us of the program are between them";
}

/// A task spawns three, which run in this order.
TaskRun run_with_spawned(const std::vector<std::uint64_t>& order) {
  RecordedTasks recorded{1};
  recorded.graph(0, {TaskRole::compute}, {});
  recorded.graph_run(0, 0, 0);
  recorded.task(0, {.id = 1, .ready = 0, .start = 0, .end = 10, .place = 1});
  int start = 10;
  for (const std::uint64_t id : order) {
    const int ready = static_cast<int>(id);
    recorded.task(0, {.id = id, .ready = ready, .start = start, .end = start + ready, .released_by = 1});
    start += ready;
  }
  return recorded.get();
}

TEST(TasksOfRun, spawned_tasks_that_did_not_run_newest_first_keep_their_order) {
  const TaskRun ordered = run_with_spawned({2, 7, 5});
  EXPECT_FALSE(ordered.nodes[node_at(ordered, 10)].is_spawned);
  const TaskPrediction prediction = predict_tasks(ordered, {}, {.keeps_times = true}).value();
  for (const RunNode& node : ordered.nodes) {
    const auto index = static_cast<std::size_t>(&node - ordered.nodes.data());
    EXPECT_TRUE(node.role != NodeRole::task || prediction.nodes[index].start == node.start);
  }
  const TaskRun newest_first = run_with_spawned({7, 5, 2});
  EXPECT_TRUE(newest_first.nodes[node_at(newest_first, 10)].is_spawned);
}

TEST(TasksOfRun, the_program_goes_on_beside_an_open_run) {
  RecordedTasks recorded{1};
  recorded.task(0, {.id = 1, .ready = 0, .start = 0, .end = 10});
  recorded.task(0, {.id = 2, .ready = 0, .start = 250, .end = 260});
  const TaskRun run = recorded.get();
  EXPECT_EQ(total(run), us(260));
  EXPECT_EQ(total(run, {.program_factor = 0.5}), us(140));
  EXPECT_EQ(total(run, {.workers = 2}), us(250)) << "the other worker has the second task at once";
}

TEST(TasksOfRun, what_waits_for_a_task_waits_for_those_that_it_has_spawned) {
  RecordedTasks recorded{1};
  recorded.graph(0, {TaskRole::compute, TaskRole::compute}, {{1, 1, 2}});
  recorded.graph_run(0, 0, 0);
  recorded.task(0, {.id = 1, .ready = 0, .start = 0, .end = 10, .place = 1});
  recorded.task(0, {.id = 7, .ready = 4, .start = 10, .end = 40, .released_by = 1});
  recorded.task(0, {.id = 2, .ready = 40, .start = 40, .end = 45, .released_by = 7, .place = 2});
  const TaskRun run = recorded.get();
  EXPECT_TRUE(waits_for(run, node_at(run, 40), node_at(run, 10)));
  ASSERT_EQ(run.spawns.of(node_at(run, 0)).size(), 1U);
  EXPECT_EQ(run.spawns.of(node_at(run, 0)).front().after, us(4));
  EXPECT_EQ(total(run, {.workers = 2}), us(39));
}

TEST(TasksOfRun, a_flow_orders_by_what_its_tasks_access) {
  enum : std::uint32_t { read, write, any_order };
  const auto place = [](std::uint32_t number, std::uint32_t how) { return number << 2U | how; };
  RecordedTasks recorded{1};
  recorded.flow_task(1, 0, {place(1, write)});
  recorded.flow_task(2, 0, {place(1, read), place(2, write)});
  recorded.flow_task(3, 0, {place(1, read), place(3, write)});
  recorded.flow_task(4, 0, {place(1, write)});
  recorded.flow_task(5, 0, {place(4, any_order)});
  recorded.flow_task(6, 0, {place(4, any_order)});
  for (int i = 0; i < 6; ++i) {
    recorded.task(0, {.id = static_cast<std::uint64_t>(i) + 1, .ready = 10 * i, .start = 10 * i, .end = 10 * i + 10});
  }
  const TaskRun run = recorded.get();
  EXPECT_TRUE(waits_for(run, node_at(run, 10), node_at(run, 0)));
  EXPECT_TRUE(waits_for(run, node_at(run, 30), node_at(run, 10)));
  EXPECT_TRUE(waits_for(run, node_at(run, 30), node_at(run, 20)));
  EXPECT_FALSE(waits_for(run, node_at(run, 20), node_at(run, 10)));
  EXPECT_FALSE(waits_for(run, node_at(run, 50), node_at(run, 40)));
  ASSERT_EQ(run.claims.of(node_at(run, 50)).size(), 1U);
  EXPECT_EQ(run.claims.of(node_at(run, 50)).front().resource, run.claims.of(node_at(run, 40)).front().resource);
}

TEST(TasksOfRun, a_task_that_receives_waits_for_the_rank_that_sends) {
  RecordedTasks recorded{2};
  recorded.graph(0, {TaskRole::compute, TaskRole::send}, {{1, 1, 2}});
  recorded.graph_run(0, 0, 0);
  recorded.task(0, {.id = 1, .ready = 0, .start = 0, .end = 10, .place = 1});
  recorded.task(
      0, {.id = 2, .ready = 10, .start = 10, .end = 12, .place = 2}, TaskRole::send, trace::message_object(Rank{1}, 5));
  recorded.message(0, trace::MessageDirection::sent, 1, 10, 12);
  recorded.graph(1, {TaskRole::receive, TaskRole::compute}, {{1, 1, 2}});
  recorded.graph_run(1, 0, 0);
  recorded.task(1,
                {.id = 1, .ready = 0, .start = 0, .end = 15, .place = 1},
                TaskRole::receive,
                trace::message_object(Rank{0}, 5));
  recorded.message(1, trace::MessageDirection::received, 0, 0, 15);
  recorded.task(1, {.id = 2, .ready = 15, .start = 15, .end = 25, .place = 2});
  const TaskRun run = recorded.get();
  ASSERT_EQ(run.messages.size(), 1U);
  EXPECT_EQ(run.messages[0].took, us(5));
  EXPECT_EQ(total(run), us(25));
  EXPECT_EQ(total(run, {.compute_factor = 0.5}), us(15));
  EXPECT_EQ(total(run, {.ranks = 1}), us(20));
}

TEST(TasksOfRun, a_task_takes_its_own_message_of_two_that_have_one_number) {
  RecordedTasks recorded{2};
  recorded.graph(1, {TaskRole::receive}, {});
  recorded.graph_run(1, 0, 0);
  recorded.task(0, {.id = 1, .ready = 0, .start = 0, .end = 100});
  recorded.task(1,
                {.id = 1, .ready = 0, .start = 0, .end = 50, .place = 1},
                TaskRole::receive,
                trace::message_object(Rank{0}, 5));
  for (const std::uint32_t communicator : {1U, 2U}) {  // the first is of a collective meanwhile
    recorded.message(0, trace::MessageDirection::sent, 1, 2, 4);
    recorded.trace().ranks[0].messages.back().event.communicator = communicator;
    recorded.message(1, trace::MessageDirection::received, 0, communicator == 1 ? 10 : 0, communicator == 1 ? 20 : 49);
    recorded.trace().ranks[1].messages.back().event.communicator = communicator;
  }
  const TaskRun run = recorded.get();
  ASSERT_EQ(run.messages.size(), 2U);
  EXPECT_NE(run.messages[0].receive, node_at(run, 0, NodeRole::receive));
  EXPECT_EQ(run.messages[1].receive, node_at(run, 0, NodeRole::receive));
  EXPECT_GT(total(run), nanoseconds{});
}

TEST(TasksOfRun, a_replay_waits_for_a_message_before_the_task_that_depended_on_it) {
  RecordedTasks recorded{2};
  recorded.task(0, {.id = 1, .ready = 0, .start = 0, .end = 10});
  recorded.task(0,
                {.id = 2, .ready = 10, .start = 10, .end = 12, .released_by = 1},
                TaskRole::send,
                trace::message_object(Rank{1}, 5));
  recorded.message(0, trace::MessageDirection::sent, 1, 10, 12);
  recorded.graph(1, {TaskRole::receive, TaskRole::compute, TaskRole::compute}, {{1, 1, 3}});
  recorded.graph_run(1, 0, 0);
  recorded.task(1,
                {.id = 1, .ready = 0, .start = 0, .end = 15, .place = 1},
                TaskRole::receive,
                trace::message_object(Rank{0}, 5));
  recorded.message(1, trace::MessageDirection::received, 0, 0, 15);
  recorded.task(1, {.id = 2, .ready = 0, .start = 1, .end = 4, .place = 2});
  recorded.task(1, {.id = 3, .ready = 15, .start = 15, .end = 25, .place = 3});
  const Schedule schedule = schedule_from_run(recorded.trace()).value();
  std::vector<std::pair<Action, nanoseconds>> acts;
  for (const Operation& operation : schedule.ranks[1].streams.front().operations) {
    acts.emplace_back(operation.action, operation.action == Action::compute ? operation.took : nanoseconds{});
  }
  EXPECT_EQ(acts,
            (std::vector<std::pair<Action, nanoseconds>>{{Action::receive, {}},
                                                         {Action::compute, us(4)},  // with the time before it
                                                         {Action::wait, {}},
                                                         {Action::compute, us(10)}}));
}

TEST(TasksOfRun, locks_of_a_graph_are_claims_with_what_is_above_them) {
  enum : std::uint32_t { locks, shares, is_above };
  RecordedTasks recorded{1};
  recorded.graph(0, {TaskRole::compute, TaskRole::compute}, {});
  recorded.trace().ranks[0].graph_claims = {{1, 1, {1U << 2U | locks, 0U << 2U | is_above}},
                                            {1, 2, {0U << 2U | shares}}};
  recorded.graph_run(0, 0, 0);
  recorded.task(0, {.id = 1, .ready = 0, .start = 0, .end = 10, .place = 1});
  recorded.task(0, {.id = 2, .ready = 0, .start = 10, .end = 20, .place = 2});
  const TaskRun run = recorded.get();
  EXPECT_EQ(total(run, {.workers = 2}), us(20));
}

TEST(TasksOfRun, what_the_trace_does_not_explain_keeps_its_time_after_what_came_before) {
  RecordedTasks recorded{1};
  recorded.graph(0, {TaskRole::compute, TaskRole::compute}, {{1, 1, 2}});
  recorded.graph_run(0, 0, 0);
  recorded.task(0, {.id = 1, .ready = 0, .start = 0, .end = 10, .place = 1});
  recorded.task(0, {.id = 2, .ready = 110, .start = 110, .end = 120, .released_by = 1, .place = 2});
  const TaskRun run = recorded.get();
  EXPECT_EQ(run.nodes[node_at(run, 110)].lag, us(100));
  EXPECT_EQ(total(run), us(120));
}

TEST(TasksOfRun, only_the_steps_that_are_wanted_are_taken) {
  RecordedTasks recorded{1};
  for (int step = 0; step < 3; ++step) {
    recorded.task(0,
                  {.id = static_cast<std::uint64_t>(step) + 1,
                   .ready = 10 * step,
                   .start = 10 * step,
                   .end = 10 * step + 10,
                   .step = static_cast<std::uint32_t>(step)});
  }
  const auto tasks = [&](StepRange steps) {
    return std::ranges::count(recorded.get(steps).nodes, NodeRole::task, &RunNode::role);
  };
  EXPECT_EQ(tasks({}), 3);
  EXPECT_EQ(tasks({1, 2}), 2);
  EXPECT_FALSE(tasks_of_run(recorded.trace(), {7, 9}));
}

TEST(TasksOfRun, a_run_without_tasks_is_refused) {
  RecordedTasks recorded{1};
  EXPECT_EQ(tasks_of_run(recorded.trace()).error().code(), ErrorCode::bad_input);
}

}  // namespace
}  // namespace plait::replay::task_run_test
