// SPDX-License-Identifier: Apache-2.0
#include <set>

#include <gtest/gtest.h>

#include "plait/trace/match_by_order.hpp"

#include "record/run.hpp"

namespace plait::record::test::hard_cases_test {
namespace {

using trace::MessageDirection;
using trace::MessageEvent;

/// The trace of a program that does not end well.
trace::RunTrace broken(std::string_view how) {
  const Ran ran = run("hard_cases", 2, how);
  EXPECT_NE(ran.status, 0) << ran.output;
  Result<trace::RunTrace> trace = trace::read_run(ran.folder);
  if (!trace) {
    ADD_FAILURE() << trace.error().what() << ran.output;
    return {};
  }
  std::filesystem::remove_all(ran.folder);
  return std::move(trace).value();
}

std::vector<MessageEvent> unfinished(const trace::RankTrace& rank) {
  std::vector<MessageEvent> found = messages_of(rank, MessageDirection::received);
  std::erase_if(found, [](const MessageEvent& message) { return !message.is_unfinished; });
  return found;
}

TEST(Abort, leaves_what_was_recorded_and_what_was_not_complete) {
  const trace::RunTrace run = broken("abort");
  ASSERT_EQ(run.ranks.size(), 2U);
  EXPECT_FALSE(run.meta.ended.has_value());
  EXPECT_EQ(calls_of(run.ranks[0], "MPI_Abort").size(), 1U);
  EXPECT_EQ(calls_of(run.ranks[1], "MPI_Sendrecv").size(), 1U);
  ASSERT_EQ(unfinished(run.ranks[0]).size(), 1U);
  EXPECT_EQ(unfinished(run.ranks[0])[0].tag.value(), 99U);
  EXPECT_EQ(unfinished(run.ranks[0])[0].peer.value(), 1U);
}

TEST(Killed, leaves_every_call_that_had_returned) {
  const trace::RunTrace run = broken("killed");
  ASSERT_EQ(run.ranks.size(), 2U);
  EXPECT_FALSE(run.meta.ended.has_value());
  EXPECT_EQ(calls_of(run.ranks[0], "MPI_Irecv").size(), 1U) << "reports the receive that was not complete";
  EXPECT_EQ(calls_of(run.ranks[0], "MPI_Barrier").size(), 1U);
  EXPECT_EQ(run.ranks[0].clocks.size(), 1U);
}

TEST(ExitWithoutFinalize, notes_what_was_not_complete) {
  const trace::RunTrace run = broken("exit");
  ASSERT_EQ(run.ranks.size(), 2U);
  EXPECT_FALSE(run.meta.ended.has_value());
  EXPECT_EQ(unfinished(run.ranks[0]).size() + unfinished(run.ranks[1]).size(), 2U);
}

TEST(Unmatched, receives_are_told_where_the_program_ends_well) {
  const trace::RunTrace run = recorded("hard_cases", 2, "none");
  ASSERT_EQ(run.ranks.size(), 2U);
  EXPECT_TRUE(run.meta.ended.has_value());
  EXPECT_EQ(unfinished(run.ranks[0]).size(), 1U);
}

TEST(Fork, leaves_the_trace_to_the_parent) {
  const trace::RunTrace run = recorded("hard_cases", 2, "fork");
  ASSERT_EQ(run.ranks.size(), 2U);
  EXPECT_EQ(calls_of(run.ranks[0], "MPI_Sendrecv").size(), 2U);
  EXPECT_TRUE(unfinished(run.ranks[0]).empty());
}

TEST(NoMpi, means_no_trace_and_no_word) {
  const Ran ran = run("hard_cases", 1, "never");
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.output, "no MPI here\n");
  EXPECT_FALSE(std::filesystem::exists(ran.folder));
}

TEST(Threads, each_have_their_own_part_of_the_file) {
  const trace::RunTrace run = recorded("hard_cases", 2, "threads");
  ASSERT_EQ(run.ranks.size(), 2U);
  EXPECT_EQ(messages_of(run.ranks[0], MessageDirection::sent).size(), 800U);
  EXPECT_EQ(messages_of(run.ranks[0], MessageDirection::received).size(), 800U);
  EXPECT_EQ(calls_of(run.ranks[0], "MPI_Waitall").size(), 800U);
  std::set<std::uint32_t> numbers;
  for (const auto& call : run.ranks[0].calls) {
    numbers.insert(call.event.number);
  }
  EXPECT_EQ(numbers.size(), run.ranks[0].calls.size()) << "no number twice";
}

TEST(ShortThreads, share_lanes) {
  const trace::RunTrace run = recorded("hard_cases", 1, "short_threads");
  ASSERT_EQ(run.ranks.size(), 1U);
  EXPECT_EQ(calls_of(run.ranks[0], "MPI_Iprobe").size(), 100U);
  EXPECT_LE(run.ranks[0].threads.size(), 4U) << "main, one at a time, names";
}

TEST(Polls, that_find_nothing_are_few_records_which_tell_how_many_they_were) {
  const trace::RunTrace run = recorded("hard_cases", 1, "spin");
  ASSERT_EQ(run.ranks.size(), 1U);
  const std::vector<trace::CallEvent> probes = calls_of(run.ranks[0], "MPI_Iprobe");
  std::size_t count = 0;
  for (const trace::CallEvent& probe : probes) {
    count += 1 + probe.repeats;
    EXPECT_LE(probe.end - probe.start, nanoseconds{100'000} * (probe.repeats == 0 ? 1'000'000 : 1));
  }
  EXPECT_EQ(count, 200'000U);
  EXPECT_EQ(probes.back().number + probes.back().repeats, probes.front().number + 199'999);
}

TEST(ManyRequests, are_all_kept) {
  const trace::RunTrace run = recorded("hard_cases", 2, "requests");
  ASSERT_EQ(run.ranks.size(), 2U);
  EXPECT_EQ(messages_of(run.ranks[0], MessageDirection::sent).size(), 100'000U);
  EXPECT_EQ(messages_of(run.ranks[1], MessageDirection::received).size(), 100'000U);
  EXPECT_EQ(calls_of(run.ranks[0], "MPI_Wait").size(), 100'000U);
}

}  // namespace
}  // namespace plait::record::test::hard_cases_test
