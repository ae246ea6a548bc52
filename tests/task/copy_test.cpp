// SPDX-License-Identifier: Apache-2.0
#include "plait/task/copy.hpp"

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/bytes.hpp"
#include "plait/net/loopback/loopback.hpp"

namespace plait::task::copy_test {
namespace {

Bytes pattern(std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::byte>((i * 131 + (i >> 8U)) & 0xffU);
  }
  return bytes;
}

/// `blocks` of two bytes in every three, as pairs of an array of triples.
comm::Layout two_of_three(Bytes& memory, std::size_t blocks) {
  return comm::Layout::strided(memory.data(), 2, 3, blocks);
}

class Copies : public testing::TestWithParam<std::uint32_t> {
 protected:
  /// Runs `body` as the only task; returns how many tasks have run.
  std::uint64_t run(const std::function<void(TaskContext&)>& body) {
    Graph graph;
    kind_ = graph.kind("help");
    graph.task("copy", body);
    scheduler_.reset_worker_times();
    scheduler_.run(graph);
    std::uint64_t count = 0;
    for (const WorkerTimes& times : scheduler_.worker_times()) {
      count += times.tasks;
    }
    return count;
  }
  /// Asks until a helper was found.
  template <class Ask>
  static std::uint64_t ask(TaskContext& context, Ask ask_once) {
    const bool has_others = GetParam() > 1;
    std::uint64_t helpers = 0;
    do {
      while (has_others && context.idle_workers() == 0) {
        std::this_thread::yield();
      }
      helpers += ask_once();
    } while (has_others && helpers == 0);
    return helpers;
  }

  SteadyClock clock_;
  trace::Recorder recorder_{clock_};
  net::LoopbackNetwork network_{1};
  std::unique_ptr<net::Driver> driver_ = network_.driver(Rank{0});
  comm::Endpoint endpoint_{*driver_, recorder_};
  Scheduler scheduler_{endpoint_, recorder_, {.worker_count = GetParam()}};
  TaskKind kind_;
  const CopyLimits small_pieces_{.core_count_max = 3, .divided_bytes_min = 1000, .piece_bytes = 700};
};

TEST_P(Copies, bring_all_bytes_whoever_helps) {
  for (const std::size_t size : {0U, 1U, 699U, 1000U, 1400U, 100'001U}) {
    const Bytes from = pattern(size);
    Bytes to(size);
    run([&](TaskContext& context) { Copier{kind_, small_pieces_}.copy(context, from, to); });
    EXPECT_EQ(to, from) << size << " bytes";
  }
}

TEST_P(Copies, pack_and_unpack_all_bytes_whoever_helps) {
  constexpr std::size_t blocks = 20'000;
  Bytes scattered = pattern(blocks * 3);
  Bytes packed(blocks * 2);
  std::uint64_t asked = 0;
  const std::uint64_t tasks = run([&](TaskContext& context) {
    const Copier copier{kind_, small_pieces_};
    asked = ask(context, [&] { return copier.gather(context, two_of_three(scattered, blocks), packed); });
  });
  EXPECT_EQ(tasks, 1 + asked);
  Bytes back = scattered;
  for (std::size_t block = 0; block < blocks; ++block) {
    ASSERT_EQ(packed[2 * block], scattered[3 * block]);
    ASSERT_EQ(packed[2 * block + 1], scattered[3 * block + 1]);
    back[3 * block] = back[3 * block + 1] = std::byte{0};
  }
  run([&](TaskContext& context) {
    const Copier copier{kind_, small_pieces_};
    ask(context, [&] { return copier.scatter(context, packed, two_of_three(back, blocks)); });
  });
  EXPECT_EQ(back, scattered);
}

TEST_P(Copies, ask_workers_that_sleep_but_no_more_than_the_limit) {
  const Bytes from = pattern(1 << 20);
  Bytes to(from.size());
  std::uint64_t asked = 0;
  const std::uint64_t tasks = run([&](TaskContext& context) {
    asked = ask(context, [&] { return Copier{kind_, small_pieces_}.copy(context, from, to); });
    EXPECT_LE(asked, 2U) << "three may copy at once";
  });
  EXPECT_EQ(asked > 0, GetParam() > 1);
  EXPECT_EQ(tasks, 1 + asked);
  EXPECT_EQ(to, from);
}

TEST_P(Copies, ask_nobody_for_little_or_when_one_core_is_enough) {
  const Bytes from = pattern(999);
  Bytes to(from.size());
  run([&](TaskContext& context) {
    while (GetParam() > 1 && context.idle_workers() == 0) {
      std::this_thread::yield();
    }
    EXPECT_EQ((Copier{kind_, small_pieces_}.copy(context, from, to)), 0U);
    EXPECT_EQ((Copier{kind_, {.core_count_max = 1, .divided_bytes_min = 10, .piece_bytes = 1}}.copy(context, from, to)),
              0U);
  });
  EXPECT_EQ(to, from);
}

TEST_P(Copies, ask_nobody_when_all_workers_are_busy) {
  const Bytes from = pattern(1 << 20);
  Bytes to(from.size());
  std::atomic<std::uint32_t> busy = 0;
  std::atomic<bool> is_copied = false;
  Graph graph;
  const TaskKind kind = graph.kind("help");
  std::uint32_t asked = 1;
  for (std::uint32_t other = 1; other < GetParam(); ++other) {
    graph.task("busy", [&] {
      for (++busy; !is_copied;) {
        std::this_thread::yield();
      }
    });
  }
  graph.task("copy", [&](TaskContext& context) {
    while (busy + 1 < GetParam()) {
      std::this_thread::yield();
    }
    asked = Copier{kind, small_pieces_}.copy(context, from, to);
    is_copied = true;
  });
  scheduler_.run(graph);
  EXPECT_EQ(asked, 0U);
  EXPECT_EQ(to, from);
}

INSTANTIATE_TEST_SUITE_P(ByWorkers, Copies, testing::Values(1, 2, 4));

TEST(CopyLimits, name_the_fewest_cores_that_are_almost_as_fast_as_the_best) {
  EXPECT_EQ(cores_worth_using(std::array{10.0}), 1U);
  EXPECT_EQ(cores_worth_using(std::array{10.0, 19.0, 25.0, 27.0, 26.0}), 3U);
  EXPECT_EQ(cores_worth_using(std::array{10.0, 5.0}), 1U);
}

TEST(CopyLimits, when_measured_are_no_more_than_the_cores) {
  const CopyLimits limits = measure_copy_limits(3, 1 << 20);
  EXPECT_GE(limits.core_count_max, 1U);
  EXPECT_LE(limits.core_count_max, 3U);
}

}  // namespace
}  // namespace plait::task::copy_test
