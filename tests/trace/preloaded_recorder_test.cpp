// SPDX-License-Identifier: Apache-2.0
#include "plait/trace/preloaded_recorder.hpp"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "plait/base/clock.hpp"
#include "plait/testing/temporary_folder.hpp"
#include "plait/trace/reader.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::trace::preloaded_recorder_test {
namespace {

/// What a preloaded recorder has: the functions of the interface have no argument that could lead to it.
Recorder* host_recorder = nullptr;

/// Threads of the file are numbered from 5 on.
constexpr std::uint16_t first_thread = 5;

const PreloadedRecorder host{
    .version = PreloadedRecorder::version_here,
    .chunk_bytes = RecorderOptions{}.chunk_bytes,
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
    Recorder own{clock, {.folder = folder.path(), .rank = Rank{0}, .rank_count = 1}};
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

}  // namespace
}  // namespace plait::trace::preloaded_recorder_test
