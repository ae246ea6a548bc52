// SPDX-License-Identifier: Apache-2.0
// Ranks that sleep in their waits, over shared memory: what comes for them wakes them.
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "plait/comm/endpoint.hpp"
#include "plait/comm/memory.hpp"
#include "plait/comm/progression.hpp"
#include "plait/net/shm/shm_driver.hpp"
#include "plait/trace/recorder.hpp"

#include "net/meeting_point.hpp"

namespace plait::comm::wake_up_test {
namespace {

/// A rank that has polled in vain sleeps for so long, unless it is woken. A packet that is under way as the rank goes
/// to sleep may wake it late, so some sleeps are as long.
constexpr std::chrono::milliseconds nap{50};
constexpr WaitPolicy always_asleep{
    .spin = nanoseconds::zero(), .yield = nanoseconds::zero(), .sleep_min = nap, .sleep_max = nap};

/// An endpoint over shared memory, a thread a rank.
class Ranks {
 public:
  explicit Ranks(std::uint32_t count) : point_{count}, drivers_(count), endpoints_(count) {
    on_each([&](std::uint32_t rank) {
      drivers_[rank] =
          net::make_shm_driver(Rank{rank}, static_cast<std::uint32_t>(drivers_.size()), point_.exchange_of(Rank{rank}));
    });
    for (std::uint32_t rank = 0; rank < count; ++rank) {
      recorders_.push_back(std::make_unique<trace::Recorder>(drivers_[rank]->clock()));
      endpoints_[rank] =
          std::make_unique<Endpoint>(*drivers_[rank], *recorders_.back(), EndpointOptions{.wait = always_asleep});
    }
  }

  Endpoint& operator[](std::uint32_t rank) { return *endpoints_[rank]; }

  void on_each(const std::function<void(std::uint32_t)>& work) {
    std::vector<std::jthread> threads;
    for (std::uint32_t rank = 0; rank < drivers_.size(); ++rank) {
      threads.emplace_back([&work, rank] { work(rank); });
    }
  }

 private:
  net::conformance::MeetingPoint point_;
  std::vector<std::unique_ptr<net::Driver>> drivers_;
  std::vector<std::unique_ptr<trace::Recorder>> recorders_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
};

/// Lets other threads run for `time`.
void let_pass(std::chrono::milliseconds time) {
  for (const auto end = std::chrono::steady_clock::now() + time; std::chrono::steady_clock::now() < end;) {
    std::this_thread::yield();
  }
}

class Stopwatch {
 public:
  [[nodiscard]] std::chrono::nanoseconds time() const { return std::chrono::steady_clock::now() - start_; }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

TEST(WakeUp, a_message_wakes_the_rank_that_waits_for_it) {
  constexpr int rounds = 200;
  Ranks ranks{2};
  const Stopwatch watch;
  ranks.on_each([&](std::uint32_t rank) {
    const Rank other{1 - rank};
    std::uint64_t value = 0;
    const auto bytes = std::as_writable_bytes(std::span{&value, 1});
    for (int round = 0; round < rounds; ++round) {
      if (rank == 0) {
        (void)ranks[0].send({other, Tag{1}}, bytes);
      }
      ranks[rank].receive({other, Tag{1}}, bytes).wait();
      if (rank == 1) {
        ++value;
        (void)ranks[1].send({other, Tag{1}}, bytes);
      }
    }
    EXPECT_EQ(value, rounds);
  });
  EXPECT_LT(watch.time(), rounds * nap / 4) << "each rank sleeps in each round";
}

TEST(WakeUp, a_put_wakes_the_rank_that_waits_for_it) {
  constexpr std::uint64_t rounds = 200;
  Ranks ranks{2};
  std::array<std::uint64_t, 2> values{};
  std::array<ExposedMemory, 2> memories;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    memories[rank] = ExposedMemory{ranks[rank], std::as_writable_bytes(std::span{&values[rank], 1})};
  }
  const Stopwatch watch;
  ranks.on_each([&](std::uint32_t rank) {
    for (std::uint64_t round = 0; round < rounds; ++round) {
      const std::uint64_t next = 2 * round + rank + 1;
      if (rank == 1) {
        memories[1].wait(round + 1);
        EXPECT_EQ(values[1], next - 1);
      }
      (void)put(ranks[rank], memories[1 - rank].key(), 0, std::as_bytes(std::span{&next, 1}));
      if (rank == 0) {
        memories[0].wait(round + 1);
        EXPECT_EQ(values[0], next + 1);
      }
    }
  });
  EXPECT_LT(watch.time(), rounds * nap / 4) << "each rank sleeps in each round";
}

TEST(WakeUp, a_long_message_wakes_both_its_ranks) {
  constexpr int rounds = 50;
  Ranks ranks{2};
  const Stopwatch watch;
  ranks.on_each([&](std::uint32_t rank) {
    Bytes data(100'000, std::byte{static_cast<unsigned char>(1 + rank)});
    for (int round = 0; round < rounds; ++round) {
      if (rank == 0) {
        ranks[0].send({Rank{1}, Tag{1}}, data).wait();
      } else {
        let_pass(std::chrono::milliseconds{1});  // the sender sleeps by now
        ranks[1].receive({Rank{0}, Tag{1}}, std::span{data}).wait();
      }
    }
    EXPECT_EQ(data.back(), std::byte{1});
  });
  EXPECT_LT(watch.time(), rounds * nap / 2);
}

TEST(WakeUp, a_thread_is_woken_by_another_one_that_polls) {
  constexpr int rounds = 40;
  Ranks ranks{1};
  const Stopwatch watch;
  for (int round = 0; round < rounds; ++round) {
    std::array<std::byte, 1> buffer{};
    std::jthread waits{[&] { ranks[0].receive({Rank{0}, Tag{1}}, std::span{buffer}).wait(); }};
    let_pass(std::chrono::milliseconds{1});  // it sleeps by now
    (void)ranks[0].send({Rank{0}, Tag{1}}, std::as_bytes(std::span{"x", 1}));
    ranks[0].progress();
    waits.join();
    EXPECT_EQ(buffer[0], std::byte{'x'});
  }
  EXPECT_LT(watch.time(), rounds * nap / 2);
}

TEST(WakeUp, what_a_rank_forwards_goes_on_when_its_wait_is_over) {
  constexpr std::chrono::seconds seldom_enough{30};
  constexpr std::uint32_t count = 4;
  Ranks ranks{count};
  const ProgressionOptions seldom{.period_min = seldom_enough, .period_max = seldom_enough};
  std::vector<std::unique_ptr<Progression>> threads;
  for (std::uint32_t rank = 0; rank < count; ++rank) {
    threads.push_back(std::make_unique<Progression>(ranks[rank], seldom));
  }
  const Bytes data(100'000, std::byte{7});
  std::vector<Destination> all;
  for (std::uint32_t rank = 1; rank < count; ++rank) {
    all.push_back({Rank{rank}});
  }
  std::vector<Bytes> buffers(count, Bytes(data.size()));  // forwarded beyond the end of a wait
  const Stopwatch watch;
  ranks.on_each([&](std::uint32_t rank) {
    if (rank == 0) {
      ranks[0].multicast(all, Tag{1}, data).wait();
      return;
    }
    // The last one receives late, when the others have ended their waits and poll no more.
    let_pass(std::chrono::milliseconds{rank == count - 1 ? 100 : 0});
    ranks[rank].receive({Rank{0}, Tag{1}}, std::span{buffers[rank]}).wait();
    EXPECT_EQ(buffers[rank], data);
  });
  EXPECT_LT(watch.time(), std::chrono::seconds{20});
}

}  // namespace
}  // namespace plait::comm::wake_up_test
