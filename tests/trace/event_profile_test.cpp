// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/clock.hpp"
#include "plait/testing/temporary_folder.hpp"
#include "plait/trace/reader.hpp"
#include "plait/trace/recorder.hpp"
#include "plait/trace/region.hpp"
#include "plait/trace/sum_table.hpp"

namespace plait::trace::event_profile_test {
namespace {

using std::chrono_literals::operator""ns;
using std::chrono_literals::operator""us;
using std::chrono_literals::operator""ms;

/// A recorder that counts, and what is in its file while it still counts: what a killed process leaves.
struct Profiled {
  explicit Profiled(std::string_view windows = "") {
    if (!windows.empty()) {
      options.profile->windows = read_window_options(windows).value();
    }
    recorder.emplace(clock, options);
    thread = &recorder->thread(WorkerId{0}, "main");
    network = &recorder->thread(WorkerId{}, "network");
  }

  [[nodiscard]] RankTrace read() const { return read_rank_trace(folder / "rank-0000.plt").value(); }
  [[nodiscard]] const EngineSumEvent& sum(EngineSumOf of) {
    trace = read();
    const auto found =
        std::ranges::find_if(trace.engine_sums, [&](const auto& recorded) { return recorded.event.of == of; });
    EXPECT_NE(found, trace.engine_sums.end());
    return found->event;
  }

  test::TemporaryFolder folder;
  SteadyClock clock;
  RecorderOptions options{
      .folder = folder.path(), .rank = Rank{0}, .rank_count = 1'000'000, .profile = ProfileOptions{}};
  std::optional<Recorder> recorder;
  ThreadRecorder* thread = nullptr;
  ThreadRecorder* network = nullptr;
  RankTrace trace;
};

TaskEvent task(std::uint32_t kind, nanoseconds ready, nanoseconds start, nanoseconds end) {
  return {.kind = NameId{kind}, .ready = ready, .start = start, .end = end};
}

TEST(EventProfile, counts_tasks_of_a_kind_and_how_long_they_waited) {
  Profiled profiled;
  profiled.thread->task(task(3, 10us, 12us, 15us));
  profiled.thread->task(task(3, 20us, 21us, 22us));
  profiled.thread->task(task(4, 20us, 21us, 31us));
  const EngineSumEvent& took = profiled.sum(EngineSumOf::tasks);
  EXPECT_EQ(took.kind, NameId{3});
  EXPECT_EQ(took.count, 2U);
  EXPECT_EQ(took.time, 4us);
  EXPECT_EQ(took.time_max, 3us);
  const EngineSumEvent& waited = profiled.sum(EngineSumOf::task_waits);
  EXPECT_EQ(waited.count, 2U);
  EXPECT_EQ(waited.time, 3us);
  EXPECT_EQ(profiled.trace.engine_sums.size(), 4U) << "of two kinds";
  EXPECT_EQ(profiled.trace.sum_times.engine.at(0)[2], 1U) << "1 us";
  EXPECT_EQ(profiled.trace.sum_times.engine.at(0)[4], 1U) << "3 us";
  EXPECT_TRUE(profiled.trace.tasks.empty());
  EXPECT_TRUE(profiled.trace.notices.empty()) << profiled.trace.notices.front();
}

TEST(EventProfile, counts_a_task_whose_readiness_is_not_known_as_one_that_did_not_wait) {
  Profiled profiled;
  profiled.thread->task(task(3, 0ns, 12us, 15us));
  EXPECT_EQ(profiled.sum(EngineSumOf::task_waits).time, 0ns);
}

TEST(EventProfile, counts_messages_by_peer_and_size_class) {
  Profiled profiled;
  for (const std::uint32_t peer : {1, 1, 2}) {
    profiled.network->message({.direction = MessageDirection::sent,
                               .protocol = Protocol::rendezvous,
                               .peer = Rank{peer},
                               .bytes = 5000,
                               .posted = 10us,
                               .handed = 14us,
                               .arrived = 19us,
                               .completed = 20us});
  }
  const EngineSumEvent& sent = profiled.sum(EngineSumOf::sent);
  EXPECT_EQ(sent.peer, 1U);
  EXPECT_EQ(sent.protocol, Protocol::rendezvous);
  EXPECT_EQ(sent.size_class, 13) << "4096 to 8191 bytes";
  EXPECT_EQ(sent.count, 2U);
  EXPECT_EQ(sent.time, 20us);
  EXPECT_EQ(sent.bytes, 10'000U);
  EXPECT_EQ(profiled.sum(EngineSumOf::sent_waits).time, 8us);
  EXPECT_TRUE(profiled.trace.messages.empty());
}

TEST(EventProfile, counts_regions_and_poll_gaps) {
  Profiled profiled;
  {
    const Region region{*profiled.recorder, "solve"};
  }
  profiled.network->poll_gap({.start = 1us, .end = 5us});
  EXPECT_EQ(profiled.sum(EngineSumOf::spans).count, 1U);
  EXPECT_EQ(profiled.sum(EngineSumOf::poll_gaps).time, 4us);
}

TEST(EventProfile, stays_in_its_memory_and_loses_no_count) {
  Profiled profiled;
  constexpr std::uint32_t messages = 200'000;
  for (std::uint32_t peer = 0; peer < messages; ++peer) {
    profiled.network->message({.peer = Rank{peer}, .bytes = 8, .posted = 1us, .handed = 2us, .completed = 3us});
  }
  EXPECT_LE(std::filesystem::file_size(profiled.folder / "rank-0000.plt"), SumTables::bytes_max);
  const RankTrace trace = profiled.read();
  const auto counted = std::accumulate(
      trace.engine_sums.begin(), trace.engine_sums.end(), std::uint64_t{0}, [](std::uint64_t sum, const auto& one) {
        return sum + (one.event.of == EngineSumOf::sent ? one.event.count : 0);
      });
  EXPECT_EQ(counted, messages);
  EXPECT_EQ(trace.engine_sums.back().event.folded, Folded::without_peer);
}

TEST(EventProfile, records_all_events_in_a_window_of_time) {
  Profiled profiled{"10ms/100ms"};
  profiled.thread->task(task(3, 1ms, 2ms, 3ms));
  profiled.thread->task(task(3, 51ms, 52ms, 53ms));
  profiled.thread->task(task(3, 100ms, 101ms, 102ms));
  EXPECT_EQ(profiled.sum(EngineSumOf::tasks).count, 3U) << "of all";
  ASSERT_EQ(profiled.trace.tasks.size(), 2U);
  EXPECT_EQ(profiled.trace.tasks[1].event.start, 101ms);
  EXPECT_EQ(profiled.trace.windows.size(), 2U);
}

TEST(EventProfile, records_all_events_in_a_region) {
  Profiled profiled{"region:solve"};
  profiled.thread->task(task(3, 0ns, 1ns, 2ns));
  {
    const Region region{*profiled.recorder, "solve"};
    const nanoseconds now = profiled.recorder->now();
    profiled.thread->task(task(3, now, now, now));
  }
  const nanoseconds after = profiled.recorder->now() + 1ms;
  profiled.thread->task(task(3, after, after, after));
  const RankTrace trace = profiled.read();
  EXPECT_EQ(trace.tasks.size(), 1U);
  EXPECT_EQ(trace.windows.size(), 2U) << "at its begin and at its end";
}

TEST(EventProfile, counts_the_tasks_of_many_threads_at_once) {
  Profiled profiled;
  std::vector<std::thread> threads;
  for (std::uint16_t worker = 0; worker < 8; ++worker) {
    threads.emplace_back([&profiled, worker] {
      ThreadRecorder& own = profiled.recorder->thread(WorkerId{worker}, "");
      for (std::uint32_t i = 0; i < 5000; ++i) {
        own.task(task(i % 5, 1us, 2us, 3us));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(profiled.read().engine_sums.size(), 8U * 5U * 2U);
}

}  // namespace
}  // namespace plait::trace::event_profile_test
