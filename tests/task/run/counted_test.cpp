// SPDX-License-Identifier: Apache-2.0
// Tasks whose counters are read by a recorder that the scheduler's has joined.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "plait/net/loopback/loopback.hpp"
#include "plait/task/graph.hpp"
#include "plait/task/scheduler.hpp"
#include "plait/trace/preloaded_recorder.hpp"

namespace plait::task::counted_test {
namespace {

struct Counted {
  std::thread::id thread;
  std::uint32_t kind = 0;
  std::uint64_t id = 0;
  std::int64_t start = 0;
  std::int64_t end = 0;
};

/// What the functions of a recorder below were called with: they have no argument that could lead to it.
struct Seen {
  std::mutex mutex;
  std::vector<std::thread::id> begun;
  std::vector<Counted> ended;
};
Seen* seen = nullptr;

/// A recorder whose disk is full: tasks are counted to their ends all the same.
constexpr trace::PreloadedRecorder make_host(bool counts) {
  return {.version = trace::PreloadedRecorder::version_here,
          .chunk_bytes = 4096,
          .start = [] {},
          .can_join = [](std::uint32_t, std::uint32_t) { return true; },
          .join = [](std::uint32_t) -> std::int64_t { return 0; },
          .next_chunk = []() -> std::byte* { return nullptr; },
          .name = [](std::uint8_t, const char* text, std::size_t length) -> std::uint32_t {
            return std::string_view{text, length} == "counted" ? 7 : 8;
          },
          .thread_of_worker = [](std::uint16_t worker) { return worker; },
          .enter_worker = [](std::uint16_t) {},
          .hide_calls = [](bool) { return false; },
          .note_option = [](const char*, const char*) {},
          .counts_tasks = counts ? +[] { return true; } : +[] { return false; },
          .begin_task =
              [] {
                const std::lock_guard lock{seen->mutex};
                seen->begun.push_back(std::this_thread::get_id());
              },
          .end_task =
              [](std::uint32_t kind, std::uint64_t id, std::int64_t start, std::int64_t end) {
                const std::lock_guard lock{seen->mutex};
                seen->ended.push_back({std::this_thread::get_id(), kind, id, start, end});
              },
          .is_profile = [] { return false; },
          .has_windows = [] { return false; },
          .keeps = [](std::int64_t, std::int64_t) { return true; },
          .region_begins = [](std::uint32_t, std::int64_t) {},
          .region_ends = [](std::uint32_t, std::int64_t) {}};
}

/// Runs 40 tasks three times on two workers.
void run_tasks(const trace::PreloadedRecorder& host, Seen& into) {
  seen = &into;
  {
    net::LoopbackNetwork network{1};
    const std::unique_ptr<net::Driver> driver = network.driver(Rank{0});
    const SteadyClock clock;
    trace::Recorder recorder{clock, host, 2};
    comm::Endpoint endpoint{*driver, recorder};
    Scheduler scheduler{endpoint, recorder, {.worker_count = 2}};
    Graph graph;
    for (int i = 0; i < 40; ++i) {
      graph.task("counted", [] {});
    }
    for (int run = 0; run < 3; ++run) {
      scheduler.run(graph);
    }
  }
  seen = nullptr;
}

TEST(CountedTasks, are_between_a_start_and_an_end_on_one_thread) {
  constexpr trace::PreloadedRecorder host = make_host(true);
  Seen all;
  run_tasks(host, all);
  ASSERT_EQ(all.ended.size(), 120U);
  std::vector<std::thread::id> threads;
  std::vector<std::uint64_t> ids;
  for (const Counted& task : all.ended) {
    EXPECT_EQ(task.kind, 7U);
    EXPECT_LE(task.start, task.end);
    threads.push_back(task.thread);
    ids.push_back(task.id);
  }
  std::ranges::sort(threads);
  std::ranges::sort(all.begun);
  EXPECT_EQ(threads, all.begun);
  std::ranges::sort(ids);
  EXPECT_EQ(std::ranges::adjacent_find(ids), ids.end());
}

TEST(CountedTasks, are_none_where_nothing_is_counted) {
  constexpr trace::PreloadedRecorder host = make_host(false);
  Seen all;
  run_tasks(host, all);
  EXPECT_TRUE(all.begun.empty());
  EXPECT_TRUE(all.ended.empty());
}

}  // namespace
}  // namespace plait::task::counted_test
