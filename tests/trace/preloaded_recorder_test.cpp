// SPDX-License-Identifier: Apache-2.0
#include "plait/trace/preloaded_recorder.hpp"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "plait/base/clock.hpp"
#include "plait/testing/temporary_folder.hpp"
#include "plait/trace/reader.hpp"
#include "plait/trace/recorder.hpp"
#include "plait/trace/sum_table.hpp"

namespace plait::trace::preloaded_recorder_test {
namespace {

/// What a preloaded recorder has: the functions of the interface have no argument that could lead to it.
Recorder* host_recorder = nullptr;

/// Threads of the file are numbered from 5 on.
constexpr std::uint16_t first_thread = 5;

bool is_host_a_profile = false;

const PreloadedRecorder host{
    .version = PreloadedRecorder::version_here,
    .chunk_bytes = SumTable::chunk_bytes,
    .start = [] {},
    .can_join = [](std::uint32_t, std::uint32_t) { return true; },
    .join = [](std::uint32_t) -> std::int64_t { return 1000; },
    .next_chunk = [] { return host_recorder->lend_chunk().data(); },
    .name =
        [](std::uint8_t role, const char* text, std::size_t length) {
          return host_recorder->name(static_cast<Role>(role), std::string_view{text, length}).value();
        },
    .thread_of_worker = [](std::uint16_t worker) { return static_cast<std::uint16_t>(worker + first_thread); },
    .enter_worker = [](std::uint16_t) {},
    .hide_calls = [](bool) { return false; },
    .note_option = [](const char*, const char*) {},
    .counts_tasks = [] { return false; },
    .begin_task = [] {},
    .end_task = [](std::uint32_t, std::uint64_t, std::int64_t, std::int64_t) {},
    .is_profile = [] { return is_host_a_profile; },
    .has_windows = [] { return true; },
    .keeps = [](std::int64_t start, std::int64_t) { return start >= 1000; },
    .region_begins = [](std::uint32_t, std::int64_t) {},
    .region_ends = [](std::uint32_t, std::int64_t) {},
};

TEST(PreloadedRecorder, is_none_in_a_process_without_one) {
  EXPECT_EQ(preloaded_recorder(), nullptr);
  const OwnCalls own;  // does nothing
}

TEST(PreloadedRecorder, shares_its_file_names_and_time_with_the_recorder_that_joins) {
  const test::TemporaryFolder folder;
  ManualClock clock;
  clock.advance_to(nanoseconds{1000});
  {
    Recorder own{clock,
                 {.folder = folder.path(), .rank = Rank{0}, .rank_count = 1, .chunk_bytes = SumTable::chunk_bytes}};
    host_recorder = &own;
    Recorder joined{clock, host, 2};
    EXPECT_TRUE(joined.is_on());
    EXPECT_TRUE(joined.has_joined());
    EXPECT_FALSE(own.has_joined());
    clock.advance_to(nanoseconds{1500});
    EXPECT_EQ(joined.now(), own.now());
    const NameId of_host = own.name(Role::span, "of the host");
    const NameId of_joined = joined.name(Role::span, "of the runtime");
    EXPECT_NE(of_host, of_joined);
    EXPECT_EQ(joined.name(Role::span, "of the host"), of_host);
    own.thread(WorkerId{0}, "main").span({.name = of_host, .start = nanoseconds{10}, .end = nanoseconds{20}});
    joined.thread(WorkerId{1}, "").span({.name = of_joined, .start = nanoseconds{30}, .end = joined.now()});
    host_recorder = nullptr;
  }
  Result<RankTrace> read = read_rank_trace(folder.path() / "rank-0000.plt");
  ASSERT_TRUE(read) << read.error().what();
  const RankTrace& trace = read.value();
  EXPECT_TRUE(trace.notices.empty());
  ASSERT_EQ(trace.spans.size(), 2U);
  const bool is_host_first = trace.spans[0].event.start == nanoseconds{10};
  const auto& later = trace.spans[is_host_first ? 1 : 0];
  EXPECT_EQ(trace.name(Role::span, later.event.name), "of the runtime");
  EXPECT_EQ(later.event.end, nanoseconds{500});
  EXPECT_EQ(trace.threads.at(later.thread).worker, WorkerId{first_thread + 1});
}

TEST(PreloadedRecorder, that_counts_makes_the_recorder_count_that_joins) {
  const test::TemporaryFolder folder;
  ManualClock clock;
  clock.advance_to(nanoseconds{1000});
  is_host_a_profile = true;
  {
    Recorder own{clock,
                 {.folder = folder.path(), .rank = Rank{0}, .rank_count = 1, .chunk_bytes = SumTable::chunk_bytes}};
    host_recorder = &own;
    Recorder joined{clock, host, 1};
    const NameId kind = joined.name(Role::task, "work");
    for (const int start : {10, 2000}) {
      joined.thread(WorkerId{0}, "").task({.kind = kind, .start = nanoseconds{start}, .end = nanoseconds{start + 5}});
    }
    host_recorder = nullptr;
  }
  is_host_a_profile = false;
  const RankTrace trace = read_rank_trace(folder.path() / "rank-0000.plt").value();
  EXPECT_TRUE(trace.notices.empty());
  EXPECT_EQ(trace.tasks.size(), 1U) << "that of the window";
  ASSERT_EQ(trace.engine_sums.size(), 2U) << "of tasks and of their waits";
  EXPECT_EQ(trace.engine_sums[0].event.count, 2U);
}

}  // namespace
}  // namespace plait::trace::preloaded_recorder_test
