// SPDX-License-Identifier: Apache-2.0
// Non-contiguous messages whose segments several threads copy.
#include <algorithm>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "plait/comm/endpoint.hpp"

#include "comm/loopback_ranks.hpp"

namespace plait::comm::endpoint_copies_test {
namespace {

using test::LoopbackRanks;
using test::pattern;

const EndpointOptions small_pieces{.eager_bytes_max = 1000,
                                   .segment_bytes = 20'000,
                                   .copiers_max = 2,
                                   .copy_piece_bytes = 1500,
                                   .copy_memory_bytes_max = 50'000};

/// Memory of a message of `bytes` in blocks of odd sizes, in any order, with gaps.
class Scattered {
 public:
  Scattered(std::size_t bytes, unsigned seed) : memory_(2 * bytes + 100, std::byte{0}) {
    std::mt19937 random{seed};
    std::vector<std::span<std::byte>> blocks;
    std::size_t place = 0;
    for (std::size_t left = bytes; left > 0;) {
      const std::size_t size = std::min<std::size_t>(left, 1 + random() % 700);
      blocks.push_back(std::span{memory_}.subspan(place, size));
      place += size + random() % 2;
      left -= size;
    }
    std::ranges::shuffle(blocks, random);
    layout_ = std::make_unique<Layout>(Layout::blocks(std::move(blocks)));
  }
  Scattered(const Bytes& data, unsigned seed) : Scattered{data.size(), seed} { layout_->scatter(0, data); }

  [[nodiscard]] const Layout& layout() const { return *layout_; }
  [[nodiscard]] Bytes data() const {
    Bytes packed(layout_->size());
    layout_->gather(0, packed);
    return packed;
  }

 private:
  Bytes memory_;
  std::unique_ptr<Layout> layout_;
};

/// Two ranks with `threads_of_a_rank` threads each, which make progress until the end of scope.
class PollingRanks {
 public:
  explicit PollingRanks(int threads_of_a_rank, const EndpointOptions& options = small_pieces) : ranks_{2, options} {
    for (int thread = 0; thread < 2 * threads_of_a_rank; ++thread) {
      threads_.emplace_back([this, rank = static_cast<std::uint32_t>(thread % 2)](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          if (ranks_[rank].progress() == 0) {
            std::this_thread::yield();
          }
        }
      });
    }
  }
  Endpoint& operator[](std::uint32_t rank) { return ranks_[rank]; }
  [[nodiscard]] static bool are_complete(std::span<Request> requests) {
    return std::ranges::all_of(requests, &Request::is_complete);
  }
  static void wait(std::span<Request> requests) {
    while (!are_complete(requests)) {
      std::this_thread::yield();
    }
  }

 private:
  LoopbackRanks ranks_;
  std::vector<std::jthread> threads_;
};

class CopyingThreads : public testing::TestWithParam<int> {};

TEST_P(CopyingThreads, bring_messages_of_all_shapes_whole_both_ways) {
  constexpr unsigned message_count = 60;
  PollingRanks ranks{GetParam()};
  std::vector<Bytes> sent;
  std::vector<Scattered> from;
  std::vector<Scattered> to;
  std::vector<Request> requests;
  std::mt19937 random{7};
  for (unsigned number = 0; number < message_count; ++number) {
    sent.push_back(pattern(1 + random() % 90'000, number));
    from.emplace_back(sent.back(), number);
    to.emplace_back(sent.back().size() + random() % 2, number + 1000);
  }
  for (unsigned number = 0; number < message_count; ++number) {
    const Rank source{number % 2};
    const Rank target{1 - number % 2};
    requests.push_back(ranks[source.value()].send({target, Tag{number}}, from[number].layout()));
    requests.push_back(ranks[target.value()].receive({source, Tag{number}}, to[number].layout()));
  }
  PollingRanks::wait(requests);
  for (unsigned number = 0; number < message_count; ++number) {
    Bytes received = to[number].data();
    received.resize(sent[number].size());
    EXPECT_EQ(received, sent[number]) << "message " << number;
  }
  EXPECT_GT(ranks[0].activity().copied_pieces(), 0U);
}

TEST_P(CopyingThreads, meet_contiguous_memory_on_the_other_side) {
  PollingRanks ranks{GetParam()};
  const Bytes sent = pattern(200'000, 1);
  const Scattered from{sent, 2};
  const Scattered to{sent.size(), 3};
  Bytes plain;
  std::vector<Request> requests;
  requests.push_back(ranks[0].send({Rank{1}, Tag{1}}, from.layout()));
  requests.push_back(ranks[1].receive({Rank{0}, Tag{1}}, plain));
  requests.push_back(ranks[0].send({Rank{1}, Tag{2}}, sent));
  requests.push_back(ranks[1].receive({Rank{0}, Tag{2}}, to.layout()));
  PollingRanks::wait(requests);
  EXPECT_EQ(plain, sent);
  EXPECT_EQ(to.data(), sent);
}

TEST_P(CopyingThreads, go_on_after_a_message_that_does_not_fit) {
  PollingRanks ranks{GetParam()};
  const Bytes sent = pattern(100'000, 4);
  const Scattered from{sent, 5};
  const Scattered small{sent.size() - 1, 6};
  const Scattered large{sent.size(), 7};
  std::vector<Request> requests;
  requests.push_back(ranks[1].receive({Rank{0}, Tag{1}}, small.layout()));
  requests.push_back(ranks[1].receive({Rank{0}, Tag{1}}, large.layout()));
  for (int message = 0; message < 2; ++message) {
    requests.push_back(ranks[0].send({Rank{1}, Tag{1}}, from.layout()));
  }
  PollingRanks::wait(requests);
  EXPECT_THROW(static_cast<void>(requests[0].wait()), Error);
  EXPECT_EQ(small.data(), Bytes(small.layout().size(), std::byte{0})) << "nothing of it";
  EXPECT_EQ(large.data(), sent);
}

TEST_P(CopyingThreads, stop_when_the_run_fails) {
  for (unsigned attempt = 0; attempt < 20; ++attempt) {
    const Bytes sent = pattern(150'000, attempt);
    const Scattered from{sent, 1};
    const Scattered to{sent.size(), 2};
    PollingRanks ranks{GetParam()};  // ends before the memory
    const Request receive = ranks[1].receive({Rank{0}, Tag{1}}, to.layout());
    const Request send = ranks[0].send({Rank{1}, Tag{1}}, from.layout());
    while (ranks[attempt % 2].activity().copied_pieces() < attempt && !receive.is_complete()) {
      std::this_thread::yield();
    }
    ranks[attempt % 2].stop_all(Error{ErrorCode::user_task, "stopped by the test"});
    while (!ranks[1 - attempt % 2].failure()) {
      std::this_thread::yield();
    }
    if (receive.is_complete()) {
      EXPECT_EQ(to.data(), sent);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OfARank, CopyingThreads, testing::Values(1, 2, 3));

TEST(EndpointCopies, take_no_helper_when_one_thread_is_to_copy) {
  EndpointOptions options = small_pieces;
  options.copiers_max = 1;
  PollingRanks ranks{2, options};
  const Bytes sent = pattern(100'000, 8);
  const Scattered from{sent, 1};
  const Scattered to{sent.size(), 2};
  std::vector<Request> requests;
  requests.push_back(ranks[0].send({Rank{1}, Tag{1}}, from.layout()));
  requests.push_back(ranks[1].receive({Rank{0}, Tag{1}}, to.layout()));
  PollingRanks::wait(requests);
  EXPECT_EQ(to.data(), sent);
  EXPECT_EQ(ranks[0].activity().copied_pieces() + ranks[1].activity().copied_pieces(), 0U);
}

TEST(EndpointCopies, leave_memory_that_a_peer_still_writes_to_the_driver) {
  net::LoopbackNetwork network{2};
  SteadyClock clock;
  trace::Recorder recorder{clock};
  const Bytes sent = pattern(30'000, 1);
  const Scattered to{sent.size(), 2};
  const std::unique_ptr<net::Driver> receiver_driver = network.driver(Rank{1});
  const std::unique_ptr<net::Driver> sender_driver = network.driver(Rank{0});
  Endpoint sender{*sender_driver, recorder, small_pieces};
  {
    Endpoint receiver{*receiver_driver, recorder, small_pieces};
    const Request receive = receiver.receive({Rank{0}, Tag{1}}, to.layout());
    const Request send = sender.send({Rank{1}, Tag{1}}, sent);
    while (!receiver.activity().is_moving_bulk()) {
      receiver.progress();
    }
  }
  sender.progress();  // writes to where the receiver would have unpacked it
  EXPECT_TRUE(sender.activity().is_moving_bulk());
  EXPECT_EQ(to.data(), Bytes(sent.size(), std::byte{0}));
}

}  // namespace
}  // namespace plait::comm::endpoint_copies_test
