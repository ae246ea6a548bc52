// SPDX-License-Identifier: Apache-2.0
// Random puts and gets on simulated networks, compared with arrays: each seed draws delays, reordering, full queues,
// segments, and the rank that fails. A failing seed is a complete bug report.
#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "plait/comm/memory.hpp"
#include "plait/net/sim/sim.hpp"

#include "comm/loopback_ranks.hpp"
#include "comm/random_network.hpp"

namespace plait::comm::memory_simulated_test {
namespace {

constexpr std::uint32_t rank_count = 4;
constexpr unsigned transfer_count = 40;
constexpr std::size_t slice_bytes = 12'000;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr unsigned seeds_of_a_test = 25;
#else
constexpr unsigned seeds_of_a_test = 150;
#endif

/// Every rank exposes a memory for each writer, and one that all read, which nothing changes.
class SimulatedMemories {
 public:
  SimulatedMemories(unsigned seed, std::vector<net::SimFailure> failures) : random_{seed} {
    const net::SimOptions network =
        test::random_network(seed, std::move(failures), [this](unsigned n) { return below(n); });
    network_ = std::make_unique<net::SimNetwork>(rank_count, network);
    const EndpointOptions options{.eager_bytes_max = below(2) == 0 ? 16U : 10'000U,
                                  .packing = std::array{"immediate", "aggregate", "priority"}[below(3)],
                                  .packet_memory_bytes_max = below(100'000),
                                  .unexpected_bytes_max = below(20'000),
                                  .segment_bytes = 500 + below(30'000),
                                  .segments_in_flight = 1 + below(3)};
    for (std::uint32_t rank = 0; rank < rank_count; ++rank) {
      drivers_.push_back(network_->driver(Rank{rank}));
      recorders_.push_back(std::make_unique<trace::Recorder>(drivers_.back()->clock()));
      endpoints_.push_back(std::make_unique<Endpoint>(*drivers_.back(), *recorders_.back(), options));
    }
    for (std::uint32_t rank = 0; rank < rank_count; ++rank) {
      Target& target = targets_[rank];
      target.constant = test::pattern(slice_bytes, rank);
      target.readable = ExposedMemory{*endpoints_[rank], target.constant};
      for (std::uint32_t writer = 0; writer < rank_count; ++writer) {
        Slice& slice = target.slices[writer];
        slice.bytes.assign(slice_bytes, std::byte{});
        slice.model = slice.bytes;
        slice.memory = ExposedMemory{*endpoints_[rank], slice.bytes};
      }
    }
  }

  SimulatedMemories(const SimulatedMemories&) = delete;
  SimulatedMemories& operator=(const SimulatedMemories&) = delete;
  /// Memories wait at their end for transfers under way, and the clock has stopped.
  ~SimulatedMemories() {
    for (const auto& endpoint : endpoints_) {
      endpoint->stop_all(Error{ErrorCode::user_task, "the test is over"});
    }
  }

  void play() {
    try {
      for (unsigned number = 0; number < transfer_count; ++number) {
        const Rank origin{below(rank_count)};
        const std::uint32_t target = below(rank_count);
        if (network_->is_alive(origin)) {
          if (below(3) == 0) {
            get_from(origin, target);
          } else {
            put_into(origin, target);
          }
        }
        for (unsigned turns = below(5); turns > 0; --turns) {
          turn();
        }
      }
    } catch (const Error&) {
      // A rank that has learnt of a failure refuses further work.
    }
    for (int turns = 0; turns < 200'000 && turn(); ++turns) {
    }
  }

  void expect_all_in_place() {
    for (std::uint32_t rank = 0; rank < rank_count; ++rank) {
      EXPECT_FALSE(endpoints_[rank]->failure()) << endpoints_[rank]->failure()->what();
      EXPECT_EQ(endpoints_[rank]->activity().outstanding_count(), 0U);
      for (const Slice& slice : targets_[rank].slices) {
        EXPECT_EQ(slice.memory.arrived(), slice.count);
        EXPECT_TRUE(slice.arrival.is_complete());
        EXPECT_EQ(slice.bytes, slice.model);
      }
    }
    for (const Transfer& transfer : transfers_) {
      EXPECT_TRUE(transfer.request.is_complete());
    }
  }

  /// What has completed is right, also in a run that has failed.
  void check_what_is_complete() const {
    for (const Transfer& transfer : transfers_) {
      if (transfer.is_get && transfer.request.is_complete() && !transfer.request.result().error) {
        const auto begin = targets_[transfer.target].constant.begin() + static_cast<std::ptrdiff_t>(transfer.offset);
        EXPECT_TRUE(std::equal(transfer.data.begin(), transfer.data.end(), begin));
      }
    }
  }

 private:
  struct Slice {
    Bytes bytes;
    Bytes model;
    std::uint64_t count = 0;
    std::size_t used = 0;
    ExposedMemory memory;
    Request arrival;
  };
  struct Target {
    Bytes constant;
    ExposedMemory readable;
    std::array<Slice, rank_count> slices;
  };
  struct Transfer {
    Bytes data;
    Request request;
    bool is_get = false;
    std::uint32_t target = 0;
    std::size_t offset = 0;
  };

  unsigned below(unsigned n) { return std::uniform_int_distribution<unsigned>{0, n - 1}(random_); }

  [[nodiscard]] std::size_t random_size() { return below(3) == 0 ? below(9000) : below(100); }

  void put_into(Rank origin, std::uint32_t target) {
    Slice& slice = targets_[target].slices[origin.value()];
    const std::size_t size = random_size();
    // Bytes that no earlier put writes: the order of data is not defined, only that of counts.
    if (slice.used + size > slice_bytes) {
      return;
    }
    const std::size_t offset = slice.used;
    slice.used += size;
    Transfer& put = transfers_.emplace_back(
        Transfer{test::pattern(size, static_cast<unsigned>(transfers_.size())), {}, false, target, offset});
    put.request = comm::put(*endpoints_[origin.value()],
                            slice.memory.key(),
                            offset,
                            put.data,
                            {.priority = static_cast<std::int16_t>(below(3)), .is_synchronous = below(3) == 0});
    std::ranges::copy(put.data, slice.model.begin() + static_cast<std::ptrdiff_t>(offset));
    ends_[{target, origin.value()}].push_back({offset, size});
    ++slice.count;
    if (network_->is_alive(Rank{target}) && !endpoints_[target]->failure()) {
      slice.arrival = slice.memory.arrival(slice.count);
    }
  }

  void get_from(Rank origin, std::uint32_t target) {
    const std::size_t size = random_size();
    const std::size_t offset = below(static_cast<unsigned>(slice_bytes - size));
    Transfer& get = transfers_.emplace_back(Transfer{Bytes(size), {}, false, target, offset});
    get.request = comm::get(*endpoints_[origin.value()], targets_[target].readable.key(), offset, get.data);
    get.is_get = true;  // it was not refused
  }

  bool turn() {
    std::size_t happened = 0;
    for (std::uint32_t rank = 0; rank < rank_count; ++rank) {
      happened += network_->is_alive(Rank{rank}) ? endpoints_[rank]->progress() : 0;
    }
    const bool has_moved = network_->advance();
    check_counts();
    idle_turns_ = happened > 0 || has_moved ? 0 : idle_turns_ + 1;
    return idle_turns_ < 100;  // a post may be refused at random many times in a row
  }

  /// The first `arrived()` puts of each writer are in place.
  void check_counts() {
    for (auto& [place, puts] : ends_) {
      Slice& slice = targets_[place.first].slices[place.second];
      for (; slice.memory.arrived() > checked_[place]; ++checked_[place]) {
        const auto [offset, size] = puts[checked_[place]];
        const auto begin = static_cast<std::ptrdiff_t>(offset);
        const auto end = static_cast<std::ptrdiff_t>(offset + size);
        ASSERT_TRUE(std::equal(slice.bytes.begin() + begin, slice.bytes.begin() + end, slice.model.begin() + begin));
      }
    }
  }

  std::mt19937 random_;
  std::unique_ptr<net::SimNetwork> network_;
  std::deque<Transfer> transfers_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::pair<std::size_t, std::size_t>>> ends_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> checked_;
  unsigned idle_turns_ = 0;
  std::vector<std::unique_ptr<net::Driver>> drivers_;
  std::vector<std::unique_ptr<trace::Recorder>> recorders_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  std::array<Target, rank_count> targets_;  // last: withdrawn before their endpoints end
};

class OneSidedSimulated : public testing::TestWithParam<unsigned> {};

TEST_P(OneSidedSimulated, puts_and_gets_move_the_right_bytes_whatever_the_network_does) {
  for (unsigned seed = GetParam() * seeds_of_a_test; seed < (GetParam() + 1) * seeds_of_a_test; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    SimulatedMemories memories{seed, {}};
    memories.play();
    memories.expect_all_in_place();
    memories.check_what_is_complete();
    ASSERT_FALSE(testing::Test::HasFailure());
  }
}

TEST_P(OneSidedSimulated, puts_and_gets_end_with_a_clean_error_or_rightly_when_a_rank_dies) {
  for (unsigned seed = GetParam() * seeds_of_a_test; seed < (GetParam() + 1) * seeds_of_a_test; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    SimulatedMemories memories{seed, {{Rank{seed % rank_count}, std::chrono::microseconds{seed * 7 % 300}}}};
    memories.play();
    memories.check_what_is_complete();
    ASSERT_FALSE(testing::Test::HasFailure());
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, OneSidedSimulated, testing::Range(0U, 10U));

}  // namespace
}  // namespace plait::comm::memory_simulated_test
