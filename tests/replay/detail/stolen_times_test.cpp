// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/detail/stolen_times.hpp"

#include <chrono>

#include <gtest/gtest.h>

#include "replay/task_graphs.hpp"

namespace plait::replay::stolen_times_test {
namespace {

constexpr microseconds usual{100};
constexpr microseconds longer{150};
constexpr std::uint64_t bytes = 100'000;

/// Two ranks with tasks one after the other; into every second one comes a message of 100 kB, sent before all.
TaskRun run_with_messages(microseconds with_message, bool is_equal = true) {
  TaskGraphs graphs{2};
  detail::RunBuilder& builder = graphs.builder();
  nanoseconds now{};
  for (int i = 0; i < 60; ++i) {
    const bool has_message = i % 2 == 1;
    const microseconds took = has_message ? with_message : is_equal ? usual : usual * (1 + i % 10 * 4);
    const std::uint32_t task = graphs.task(1, took);
    builder[task].start = now;
    builder[task].end = now + took;
    if (has_message) {
      const auto [send, receive] = graphs.message(0, 1, bytes);
      builder[send].start = nanoseconds{-1};
      builder[receive].end = now + took / 2;
    }
    now += took;
  }
  TaskRun run = graphs.get();
  for (RunMessage& message : run.messages) {
    message.posted = message.left = nanoseconds{-1};
    message.took = run.nodes[message.receive].end - message.posted;
  }
  return run;
}

TEST(StolenTimes, are_what_tasks_with_messages_take_longer) {
  TaskRun run = run_with_messages(longer);
  detail::find_stolen_times(run);
  EXPECT_DOUBLE_EQ(run.stolen.ns_per_byte, 0.5);
  for (const RunNode& node : run.nodes) {
    EXPECT_EQ(node.stolen, node.took == longer ? nanoseconds{longer - usual} : nanoseconds{});
  }
}

TEST(StolenTimes, are_gone_on_one_rank_and_stay_on_two) {
  TaskRun run = run_with_messages(longer);
  detail::find_stolen_times(run);
  EXPECT_EQ(predict_tasks(run, platform_of(run), {.ranks = 1}).value().total, nanoseconds{60 * usual});
  const nanoseconds two = predict_tasks(run, platform_of(run)).value().total;
  EXPECT_NEAR(static_cast<double>(two.count()), static_cast<double>(nanoseconds{30 * (usual + longer)}.count()), 1e5);
}

TEST(StolenTimes, are_not_known_where_tasks_differ_in_length_or_take_no_longer) {
  TaskRun unequal = run_with_messages(longer, false);
  detail::find_stolen_times(unequal);
  EXPECT_EQ(unequal.stolen.ns_per_byte, 0);
  TaskRun same = run_with_messages(usual);
  detail::find_stolen_times(same);
  EXPECT_EQ(same.stolen.ns_per_byte, 0);
}

TEST(StolenTimes, are_not_longer_than_a_copy_takes) {
  TaskRun run = run_with_messages(6 * usual);
  detail::find_stolen_times(run);
  EXPECT_EQ(run.stolen.ns_per_byte, 0);
}

TEST(StolenTimes, are_as_measured_where_the_trace_has_them) {
  TaskRun run = run_with_messages(usual);
  // A tenth of the second and third task, and as much of a time in which nothing ran.
  const nanoseconds end = run.nodes.back().end + 200 * usual;
  detail::find_stolen_times(run, {{1, usual, 3 * usual, usual / 5}, {1, end, end + usual, usual / 10}});
  nanoseconds stolen{};
  for (const RunNode& node : run.nodes) {
    stolen += node.stolen;
    const bool is_hit = node.role == NodeRole::task && node.start >= usual && node.start < 3 * usual;
    EXPECT_EQ(node.stolen, is_hit ? nanoseconds{usual} / 10 : nanoseconds{});
  }
  EXPECT_EQ(stolen, usual / 5);
  EXPECT_DOUBLE_EQ(run.stolen.ns_per_byte, static_cast<double>(stolen.count()) / (2 * 30 * bytes));
  EXPECT_EQ(predict_tasks(run, platform_of(run), {.ranks = 1}).value().total, nanoseconds{60 * usual} - usual / 5);
}

TEST(StolenTimes, are_not_known_with_several_workers) {
  TaskRun run = run_with_messages(longer);
  run.workers = 2;
  detail::find_stolen_times(run);
  EXPECT_EQ(run.stolen.ns_per_byte, 0);
}

}  // namespace
}  // namespace plait::replay::stolen_times_test
