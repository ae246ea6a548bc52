// SPDX-License-Identifier: Apache-2.0
// Graphs of tasks, task flow and regions of plait.h.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "plait/testing/temporary_folder.hpp"
#include "plait/trace/reader.hpp"

#include "c/support.hpp"

namespace plait::c::tasks_test {
namespace {

using Graphs = test::CRuntime;
using Flows = test::CRuntime;

int count(plait_context* /*context*/, void* argument) {
  ++*static_cast<std::atomic<int>*>(argument);
  return 0;
}

int return_seven(plait_context* /*context*/, void* /*argument*/) {
  return 7 + PLAIT_UNKNOWN;
}

int fail_with_sentence(plait_context* /*context*/, void* /*argument*/) {
  return plait_fail(PLAIT_BAD_INPUT, "the mesh has a hole at cell 12: repair it");
}

TEST_F(Graphs, send_compute_and_receive_in_order) {
  std::array<int, 6> from{};
  std::array<int, 3> to{};
  std::atomic<int> counted = 0;
  from.fill(rank);
  const plait_layout sent = plait_strided(from.data(), sizeof(int), 2 * sizeof(int), 3);
  const plait_layout received = plait_contiguous(to.data(), sizeof to);
  plait_graph* graph = nullptr;
  plait_resource* parent = nullptr;
  plait_resource* resource = nullptr;
  plait_task* send = nullptr;
  plait_task* receive = nullptr;
  plait_task* both = nullptr;
  std::array<plait_task*, 2> tasks{};
  ASSERT_EQ(plait_graph_create(runtime, &graph), PLAIT_SUCCESS);
  ASSERT_EQ(plait_resource_create(nullptr, &parent), PLAIT_SUCCESS);
  ASSERT_EQ(plait_resource_create(parent, &resource), PLAIT_SUCCESS);
  ASSERT_EQ(plait_graph_send(graph, "send", &sent, next, 1, &send), PLAIT_SUCCESS);
  ASSERT_EQ(plait_graph_receive(graph, "receive", &received, last, 1, &receive), PLAIT_SUCCESS);
  ASSERT_EQ(plait_graph_join(graph, "both", &both), PLAIT_SUCCESS);
  ASSERT_EQ(plait_task_after(both, send), PLAIT_SUCCESS);
  ASSERT_EQ(plait_task_after(both, receive), PLAIT_SUCCESS);
  for (plait_task*& task : tasks) {
    ASSERT_EQ(plait_graph_task(graph, "count", count, &counted, &task), PLAIT_SUCCESS);
    ASSERT_EQ(plait_task_after(task, both), PLAIT_SUCCESS);
    ASSERT_EQ(plait_task_cost(task, 1e-6), PLAIT_SUCCESS);
    ASSERT_EQ(plait_task_object(task, 3), PLAIT_SUCCESS);
  }
  ASSERT_EQ(plait_task_locks(tasks[0], resource), PLAIT_SUCCESS);
  ASSERT_EQ(plait_task_shares(tasks[1], parent), PLAIT_SUCCESS);
  ASSERT_EQ(plait_graph_run(graph), PLAIT_SUCCESS) << plait_last_error();
  EXPECT_EQ(to, (std::array{last, last, last}));
  EXPECT_EQ(counted, 2);
  ASSERT_EQ(plait_graph_run_active(graph, 1, tasks.data()), PLAIT_SUCCESS);
  EXPECT_EQ(counted, 3);
  EXPECT_EQ(plait_graph_task(graph, "none", nullptr, nullptr, nullptr), PLAIT_BAD_ARGUMENT);
  EXPECT_EQ(plait_task_after(tasks[0], nullptr), PLAIT_BAD_ARGUMENT);
  EXPECT_EQ(plait_task_cost(tasks[0], -1), PLAIT_BAD_ARGUMENT);
  EXPECT_EQ(plait_graph_free(&graph), PLAIT_SUCCESS);
  EXPECT_EQ(plait_resource_free(&resource), PLAIT_SUCCESS);
  EXPECT_EQ(plait_resource_free(&parent), PLAIT_SUCCESS);
}

TEST_F(Graphs, with_a_cycle_are_refused) {
  plait_graph* graph = nullptr;
  plait_task* first = nullptr;
  plait_task* second = nullptr;
  std::atomic<int> counted = 0;
  ASSERT_EQ(plait_graph_create(runtime, &graph), PLAIT_SUCCESS);
  ASSERT_EQ(plait_graph_task(graph, "a", count, &counted, &first), PLAIT_SUCCESS);
  ASSERT_EQ(plait_graph_task(graph, "b", count, &counted, &second), PLAIT_SUCCESS);
  ASSERT_EQ(plait_task_after(first, second), PLAIT_SUCCESS);
  ASSERT_EQ(plait_task_after(second, first), PLAIT_SUCCESS);
  EXPECT_EQ(plait_graph_run(graph), PLAIT_BAD_ARGUMENT);
  EXPECT_NE(std::strstr(plait_last_error(), "cycle"), nullptr) << plait_last_error();
  EXPECT_EQ(plait_graph_free(&graph), PLAIT_SUCCESS);
}

/// Runs a graph of one task whose function fails. Returns the error and its sentence on this rank.
std::pair<int, std::string> error_of(plait_runtime* runtime, plait_function function) {
  plait_graph* graph = nullptr;
  EXPECT_EQ(plait_graph_create(runtime, &graph), PLAIT_SUCCESS);
  EXPECT_EQ(plait_graph_task(graph, "failing", function, nullptr, nullptr), PLAIT_SUCCESS);
  const int error = plait_graph_run(graph);
  const std::string sentence = plait_last_error();
  EXPECT_EQ(plait_graph_free(&graph), PLAIT_SUCCESS);
  return {error, sentence};
}

TEST(GraphErrors, have_the_result_of_a_function) {
  plait_runtime* runtime = nullptr;
  ASSERT_EQ(plait_runtime_create(MPI_COMM_SELF, nullptr, &runtime), PLAIT_SUCCESS);
  const auto [error, sentence] = error_of(runtime, return_seven);
  EXPECT_EQ(error, PLAIT_USER_TASK);
  EXPECT_NE(sentence.find("returned 17"), std::string::npos) << sentence;
  EXPECT_EQ(plait_runtime_free(&runtime), PLAIT_SUCCESS);
}

/// Adds all that is read, and the argument, to what is written.
int add_all(const plait_memory* memory, void* argument) {
  const auto& inputs = *static_cast<const std::array<int, 32>*>(argument);
  int& sum = *static_cast<int*>(memory[0].first);
  sum += inputs[31];
  for (int i = 0; i < inputs[0]; ++i) {
    sum += *static_cast<const int*>(memory[1 + i].first);
  }
  return 0;
}

int set_to_rank_of_owner(const plait_memory* memory, void* argument) {
  std::memcpy(memory[0].first, argument, memory[0].bytes);
  return 0;
}

TEST_F(Flows, have_tasks_with_many_accesses_and_large_arguments) {
  plait_flow* flow = nullptr;
  ASSERT_EQ(plait_flow_create(runtime, &flow), PLAIT_SUCCESS);
  constexpr int data_count = 12;
  std::array<plait_data*, data_count> data{};
  plait_data* sum = nullptr;
  int total = 1000;
  ASSERT_EQ(plait_flow_data(flow, ranks - 1, sizeof(int), &total, &sum), PLAIT_SUCCESS);
  std::vector<plait_access> accesses{{sum, PLAIT_COMMUTE}};
  for (int i = 0; i < data_count; ++i) {
    ASSERT_EQ(plait_flow_data(flow, i % ranks, sizeof(int), nullptr, &data[i]), PLAIT_SUCCESS);
    const plait_submission set{.kind = "set",
                               .function = set_to_rank_of_owner,
                               .argument = &i,
                               .argument_bytes = sizeof i,
                               .priority = i,
                               .runs_elsewhere = 1,
                               .rank = (i + 1) % ranks};
    const plait_access written{data[i], PLAIT_WRITE};
    ASSERT_EQ(plait_flow_submit(flow, &set, 1, &written), PLAIT_SUCCESS) << plait_last_error();
    accesses.push_back({data[i], PLAIT_READ});
  }
  std::array<int, 32> inputs{};
  inputs[0] = data_count;
  inputs[31] = 5;
  plait_submission add{};
  add.function = add_all;
  add.argument = &inputs;
  add.argument_bytes = sizeof inputs;
  ASSERT_EQ(plait_flow_submit(flow, &add, accesses.size(), accesses.data()), PLAIT_SUCCESS) << plait_last_error();
  inputs = {};
  ASSERT_EQ(plait_flow_flush(flow, data[0]), PLAIT_SUCCESS);
  ASSERT_EQ(plait_flow_wait(flow), PLAIT_SUCCESS) << plait_last_error();
  EXPECT_EQ(total, rank == ranks - 1 ? 1000 + 5 + 66 : 1000);
  void* memory = nullptr;
  EXPECT_EQ(plait_data_local(data[0], &memory), rank == 0 ? PLAIT_SUCCESS : PLAIT_BAD_ARGUMENT);
  if (rank == 0) {
    EXPECT_EQ(*static_cast<int*>(memory), 0);
  }
  const plait_access wrong{data[0], 99};
  EXPECT_EQ(plait_flow_submit(flow, &add, 1, &wrong), PLAIT_BAD_ARGUMENT);
  EXPECT_EQ(plait_flow_submit(flow, &add, 0, nullptr), PLAIT_BAD_ARGUMENT);
  EXPECT_EQ(plait_flow_data(flow, ranks, 1, nullptr, &sum), PLAIT_BAD_ARGUMENT);
  EXPECT_EQ(plait_flow_free(&flow), PLAIT_SUCCESS);
}

int begin_region_in_task(plait_context* /*context*/, void* /*argument*/) {
  plait_region_begin("inside");
  plait_region_end();
  return 0;
}

TEST(Regions, are_in_the_trace_of_the_runtime) {
  const plait::test::TemporaryFolder folder;
  const std::string trace = (folder.path() / "trace").string();
  plait_options options;
  ASSERT_EQ(plait_options_init(&options, sizeof options), PLAIT_SUCCESS);
  options.trace_folder = trace.c_str();
  plait_runtime* runtime = nullptr;
  plait_region_begin("before");
  ASSERT_EQ(plait_runtime_create(MPI_COMM_SELF, &options, &runtime), PLAIT_SUCCESS) << plait_last_error();
  plait_region_end();
  plait_region_begin("outer");
  plait_graph* graph = nullptr;
  ASSERT_EQ(plait_graph_create(runtime, &graph), PLAIT_SUCCESS);
  ASSERT_EQ(plait_graph_task(graph, "task", begin_region_in_task, nullptr, nullptr), PLAIT_SUCCESS);
  ASSERT_EQ(plait_graph_run(graph), PLAIT_SUCCESS);
  ASSERT_EQ(plait_graph_free(&graph), PLAIT_SUCCESS);
  plait_region_end();
  plait_region_end();  // ignored
  plait_region_begin("after");
  ASSERT_EQ(plait_runtime_free(&runtime), PLAIT_SUCCESS);
  plait_region_end();

  auto read = plait::trace::read_rank_trace(folder.path() / "trace" / "rank-0000.plt");
  ASSERT_TRUE(read);
  const plait::trace::RankTrace& recorded = read.value();
  std::vector<std::string> names;
  for (const auto& span : recorded.spans) {
    names.push_back(recorded.name(plait::trace::Role::span, span.event.name));
    EXPECT_LE(span.event.start, span.event.end);
  }
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"inside", "outer"}));
}

TEST(Regions, without_a_runtime_do_nothing) {
  for (int depth = 0; depth < 100; ++depth) {
    plait_region_begin("deep");
  }
  for (int depth = 0; depth < 101; ++depth) {
    plait_region_end();
  }
}

TEST_F(Graphs, end_on_all_ranks_with_the_sentence_of_a_function) {
  MPI_Barrier(MPI_COMM_WORLD);  // no rank fails before all have their runtime
  const auto [error, sentence] = error_of(runtime, fail_with_sentence);
  EXPECT_TRUE(error == PLAIT_BAD_INPUT || error == PLAIT_PEER_FAILED) << error;
  EXPECT_NE(sentence.find("cell 12: repair it"), std::string::npos) << sentence;
}

}  // namespace
}  // namespace plait::c::tasks_test

int main(int argc, char** argv) {
  return plait::c::test::run_on_ranks(argc, argv);
}
