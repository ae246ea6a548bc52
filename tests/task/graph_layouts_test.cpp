// SPDX-License-Identifier: Apache-2.0
// Send and receive tasks of non-contiguous data, which idle workers help to pack and unpack.
#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "plait/comm/layout.hpp"
#include "plait/net/loopback/loopback.hpp"
#include "plait/task/graph.hpp"
#include "plait/testing/local_rank.hpp"

namespace plait::task::graph_layouts_test {
namespace {

using comm::Layout;

constexpr std::size_t long_bytes = 400'000;

/// Values that depend on their place, of blocks of odd sizes in any order, with gaps of a fixed value.
class Field {
 public:
  Field(std::size_t bytes, unsigned seed) : bytes_{bytes}, memory_(2 * bytes + 10, gap) {
    std::mt19937 random{seed};
    std::size_t place = 0;
    for (std::size_t left = bytes; left > 0;) {
      const std::size_t size = std::min<std::size_t>(left, 1 + random() % 900);
      blocks_.push_back({place, size});
      place += size + random() % 2;
      left -= size;
    }
    std::ranges::shuffle(blocks_, random);
  }

  [[nodiscard]] Layout layout() {
    std::vector<std::span<std::byte>> blocks;
    for (const auto& [place, size] : blocks_) {
      blocks.push_back(std::span{memory_}.subspan(place, size));
    }
    return Layout::blocks(std::move(blocks));
  }
  /// The model: block after block, byte after byte.
  void fill(unsigned seed) {
    std::size_t number = 0;
    for (const auto& [place, size] : blocks_) {
      for (std::size_t i = 0; i < size; ++i) {
        memory_[place + i] = value(seed, number++);
      }
    }
  }
  [[nodiscard]] bool holds(unsigned seed) const {
    Bytes expected(memory_.size(), gap);
    std::size_t number = 0;
    for (const auto& [place, size] : blocks_) {
      for (std::size_t i = 0; i < size; ++i) {
        expected[place + i] = value(seed, number++);
      }
    }
    return memory_ == expected && number == bytes_;
  }

 private:
  static constexpr std::byte gap{0xee};
  [[nodiscard]] static std::byte value(unsigned seed, std::size_t number) {
    return static_cast<std::byte>((number * 131 + seed * 7919 + (number >> 8U)) & 0xffU);
  }

  struct Block {
    std::size_t place;
    std::size_t size;
  };
  std::size_t bytes_;
  Bytes memory_;
  std::vector<Block> blocks_;
};

/// A rank whose segments are divided into small pieces.
struct CopyingRank {
  CopyingRank(net::LoopbackNetwork& network, std::uint32_t self, std::uint32_t workers)
      : driver{network.driver(Rank{self})}, scheduler{endpoint, recorder, {.worker_count = workers}} {}

  SteadyClock clock;
  trace::Recorder recorder{clock};
  std::unique_ptr<net::Driver> driver;
  comm::Endpoint endpoint{*driver,
                          recorder,
                          {.eager_bytes_max = 1000,
                           .segment_bytes = 50'000,
                           .copiers_max = 2,
                           .copy_piece_bytes = 2000,
                           .copy_memory_bytes_max = 150'000}};
  Scheduler scheduler;
};

/// Runs `body(rank number)` on a thread for each of two ranks.
template <class Body>
void on_two_ranks(const Body& body) {
  std::jthread other{body, 1U};
  body(0U);
}

class Layouts : public testing::TestWithParam<std::uint32_t> {};

TEST_P(Layouts, of_all_sizes_arrive_whole_in_run_after_run) {
  constexpr std::array<std::size_t, 6> sizes{1, 999, 1001, 2001, 49'999, long_bytes};
  net::LoopbackNetwork network{2};
  std::atomic<unsigned> wrong = 0;
  on_two_ranks([&](std::uint32_t self) {
    std::vector<std::unique_ptr<Field>> fields;
    CopyingRank rank{network, self, GetParam()};
    Graph graph;
    unsigned run = 0;
    const Rank peer{1 - self};
    for (std::size_t index = 0; index < sizes.size(); ++index) {
      const auto number = static_cast<unsigned>(index);
      Field& from = *fields.emplace_back(std::make_unique<Field>(sizes[index], 10 + number + self));
      Field& to = *fields.emplace_back(std::make_unique<Field>(sizes[index], 30 + number + self));
      Task fill = graph.task("fill", [&from, &run, number] { from.fill(run + number); });
      Task send = graph.send("send", {peer, Tag{index}}, [&from] { return from.layout(); });
      Task receive = graph.receive("receive", {peer, Tag{index}}, to.layout());
      Task check = graph.task("check", [&to, &run, &wrong, number] { wrong += to.holds(run + number) ? 0 : 1; });
      send.after(fill);
      check.after(receive);
    }
    for (; run < 6; ++run) {
      rank.scheduler.run(graph);
    }
    rank.endpoint.drain();
  });
  EXPECT_EQ(wrong, 0U);
}

TEST_P(Layouts, run_what_is_to_be_done_on_arrival_after_the_last_byte) {
  net::LoopbackNetwork network{1};
  Field from{long_bytes, 1};
  Field to{long_bytes, 2};
  CopyingRank rank{network, 0, GetParam()};
  from.fill(5);
  bool is_whole = false;
  Graph graph;
  graph.send("send", {Rank{0}, Tag{1}}, [&] { return from.layout(); });
  graph.receive("receive", {Rank{0}, Tag{1}}, to.layout(), [&] { is_whole = to.holds(5); });
  rank.scheduler.run(graph);
  EXPECT_TRUE(is_whole);
}

TEST_P(Layouts, are_helped_by_idle_workers_and_by_those_that_come_late) {
  net::LoopbackNetwork network{1};
  Field from{long_bytes, 1};
  Field to{long_bytes, 2};
  CopyingRank rank{network, 0, GetParam()};
  Graph graph;
  graph.send("send", {Rank{0}, Tag{1}}, [&] { return from.layout(); });
  graph.receive("receive", {Rank{0}, Tag{1}}, to.layout());
  const auto helped = [&] { return rank.endpoint.activity().helped_pieces(); };
  unsigned run = 0;
  do {  // a worker without a task polls while data moves: it helps sooner or later
    from.fill(++run);
    rank.scheduler.run(graph);
    ASSERT_TRUE(to.holds(run));
  } while (GetParam() > 1 && helped() == 0);
  EXPECT_EQ(helped() > 0, GetParam() > 1);
}

TEST_P(Layouts, need_no_idle_worker) {
  net::LoopbackNetwork network{1};
  Field from{long_bytes, 1};
  Field to{long_bytes, 2};
  CopyingRank rank{network, 0, GetParam()};
  from.fill(3);
  std::atomic<bool> has_arrived = false;
  Graph graph;
  for (std::uint32_t other = 1; other < GetParam(); ++other) {
    graph.task("busy", [&] {
      while (!has_arrived) {
        std::this_thread::yield();
      }
    });
  }
  graph.send("send", {Rank{0}, Tag{1}}, [&] { return from.layout(); });
  graph.task("end", [&] { has_arrived = true; }).after(graph.receive("receive", {Rank{0}, Tag{1}}, to.layout()));
  rank.scheduler.run(graph);
  EXPECT_TRUE(to.holds(3));
}

TEST_P(Layouts, that_are_too_small_end_the_run_with_their_size) {
  net::LoopbackNetwork network{1};
  Field from{long_bytes, 1};
  Field to{long_bytes - 1, 2};
  CopyingRank rank{network, 0, GetParam()};
  Graph graph;
  graph.send("send", {Rank{0}, Tag{1}}, [&] { return from.layout(); });
  graph.receive("receive", {Rank{0}, Tag{1}}, to.layout());
  try {
    rank.scheduler.run(graph);
    FAIL() << "a message that does not fit ends the run";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::truncated);
    EXPECT_STREQ(error.what(),
                 "task 'receive' on rank 0 received 400000 bytes from rank 0 with tag 1, more than its buffer of "
                 "399999");
  }
}

TEST_P(Layouts, under_way_do_not_keep_a_failed_run_alive) {
  for (unsigned attempt = 0; attempt < 10; ++attempt) {
    net::LoopbackNetwork network{2};
    std::array<std::string, 2> messages;
    on_two_ranks([&](std::uint32_t self) {
      Field from{long_bytes, 1};
      Field to{long_bytes, 2};
      CopyingRank rank{network, self, GetParam()};
      Graph graph;
      graph.send("send", {Rank{1 - self}, Tag{1}}, [&] { return from.layout(); });
      graph.receive("receive", {Rank{1 - self}, Tag{1}}, to.layout());
      if (self == 0) {
        graph.task("bad", [&] {
          while (rank.endpoint.activity().copied_pieces() < attempt) {
            rank.endpoint.progress();
          }
          throw std::runtime_error{"no"};
        });
      }
      try {
        rank.scheduler.run(graph);
      } catch (const Error& error) {
        messages[self] = error.what();
      }
    });
    EXPECT_EQ(messages[0], "task 'bad' on rank 0 threw: no");
    EXPECT_TRUE(messages[1].empty() || messages[1] == "rank 0 stopped the run: task 'bad' on rank 0 threw: no")
        << messages[1];
  }
}

TEST_P(Layouts, arrive_whole_over_networks_that_delay_and_reorder) {
  for (unsigned seed = 0; seed < 3; ++seed) {
    const net::SimOptions slow{.seed = seed,
                               .delay_max = std::chrono::microseconds{20},
                               .order = net::SimOrder::free,
                               .retry_probability = 0.2,
                               .bulk_slot_count = 2};
    test::run_on_ranks({.network = slow}, {.worker_count = GetParam()}, [&](test::LocalRank& rank) {
      const std::uint32_t self = rank.self().value();
      Field from{long_bytes, seed + self};
      Field to{long_bytes, seed + 20 + self};
      from.fill(self);
      Graph graph;
      const Rank peer{1 - self};
      graph.send("send", {peer, Tag{1}}, [&] { return from.layout(); });
      graph.receive("receive", {peer, Tag{1}}, to.layout());
      rank.scheduler().run(graph);
      rank.messages().drain();
      EXPECT_TRUE(to.holds(1 - self));
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Workers, Layouts, testing::Values(1U, 3U));

}  // namespace
}  // namespace plait::task::graph_layouts_test
