// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/endpoint.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <sys/mman.h>
#include <thread>

#include <gtest/gtest.h>

#include "comm/loopback_ranks.hpp"

namespace plait::comm::endpoint_test {
namespace {

using test::LoopbackRanks;
using test::pattern;

constexpr std::size_t long_bytes = 300'000;

class AnyLength : public testing::TestWithParam<std::size_t> {};

TEST_P(AnyLength, arrives_whole_when_the_receive_was_posted_first) {
  LoopbackRanks ranks{2};
  const Bytes sent = pattern(GetParam(), 1);
  Bytes received(sent.size());
  Request receive = ranks[1].receive({Rank{0}, Tag{5}}, std::span{received});
  Request send = ranks[0].send({Rank{1}, Tag{5}}, sent);
  ranks.until([&] { return receive.is_complete() && send.is_complete(); });
  EXPECT_EQ(received, sent);
  EXPECT_EQ(receive.wait().bytes, sent.size());
}

TEST_P(AnyLength, arrives_whole_when_it_was_unexpected) {
  LoopbackRanks ranks{2};
  const Bytes sent = pattern(GetParam(), 2);
  Request send = ranks[0].send({Rank{1}, Tag{5}}, sent);
  ranks.until([&] { return ranks[1].probe({Rank{0}, Tag{5}}).has_value(); });
  Bytes received;
  Request receive = ranks[1].receive({any_source, any_tag}, received);
  ranks.until([&] { return receive.is_complete() && send.is_complete(); });
  EXPECT_EQ(received, sent);
  const Status status = receive.wait();
  EXPECT_EQ(status.source, Rank{0});
  EXPECT_EQ(status.tag, Tag{5});
}

TEST_P(AnyLength, sent_synchronously_completes_when_it_is_matched) {
  LoopbackRanks ranks{2};
  const Bytes sent = pattern(GetParam(), 6);
  Request send = ranks[0].send({Rank{1}, Tag{5}}, sent, {.is_synchronous = true});
  ranks.until([&] { return ranks[1].probe({Rank{0}, Tag{5}}).has_value(); });
  EXPECT_FALSE(send.test()) << "before there is a receive";
  Bytes received;
  Request receive = ranks[1].receive({Rank{0}, Tag{5}}, received);
  ranks.until([&] { return receive.is_complete() && send.is_complete(); });
  EXPECT_EQ(received, sent);
}

TEST_P(AnyLength, comes_back_from_oneself) {
  LoopbackRanks ranks{1};
  const Bytes sent = pattern(GetParam(), 3);
  Bytes received;
  Request receive = ranks[0].receive({Rank{0}, Tag{1}}, received);
  Request send = ranks[0].send({Rank{0}, Tag{1}}, sent);
  receive.wait();
  send.wait();
  EXPECT_EQ(received, sent);
}

INSTANTIATE_TEST_SUITE_P(Sizes, AnyLength, testing::Values(0, 1, 8, 1000, 8151, 8152, 8153, long_bytes));

TEST(Endpoint, announces_every_message_when_nothing_may_travel_eagerly) {
  LoopbackRanks ranks{2, {.eager_bytes_max = 0}};
  for (const std::size_t size : {0, 1, 100}) {
    const Bytes sent = pattern(size, 4);
    Bytes received;
    Request receive = ranks[1].receive({Rank{0}, Tag{5}}, received);
    Request send = ranks[0].send({Rank{1}, Tag{5}}, sent);
    ranks.until([&] { return receive.is_complete() && send.is_complete(); });
    EXPECT_EQ(received, sent);
  }
}

TEST(Endpoint, keeps_the_order_of_short_and_long_messages_with_any_tag) {
  LoopbackRanks ranks{2};
  std::deque<Bytes> sent;
  std::vector<Request> sends;
  for (unsigned i = 0; i < 100; ++i) {
    sent.push_back(pattern(i % 3 == 0 ? long_bytes : 10, i));
    sends.push_back(ranks[0].send({Rank{1}, Tag{i}}, sent.back()));
  }
  for (unsigned i = 0; i < 100; ++i) {
    Bytes received;
    Request receive = ranks[1].receive({any_source, any_tag}, received);
    ranks.until([&] { return receive.is_complete(); });
    ASSERT_EQ(receive.wait().tag, Tag{i});
    ASSERT_EQ(received, sent[i]);
  }
}

class Truncated : public testing::TestWithParam<std::size_t> {};

TEST_P(Truncated, message_is_told_and_the_sender_goes_on) {
  LoopbackRanks ranks{2};
  const Bytes sent = pattern(GetParam(), 5);
  Bytes small(sent.size() / 2);
  Request receive = ranks[1].receive({Rank{0}, Tag{9}}, std::span{small});
  Request send = ranks[0].send({Rank{1}, Tag{9}}, sent);
  ranks.until([&] { return receive.is_complete() && send.is_complete(); });
  try {
    receive.wait();
    FAIL() << "a truncated receive throws";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::truncated);
    EXPECT_NE(std::string{error.what()}.find("tag 9"), std::string::npos);
  }
  Bytes next;
  Request again = ranks[1].receive({Rank{0}, Tag{9}}, next);
  Request send_again = ranks[0].send({Rank{1}, Tag{9}}, sent);
  ranks.until([&] { return again.is_complete() && send_again.is_complete(); });
  EXPECT_EQ(next, sent);
}

INSTANTIATE_TEST_SUITE_P(Sizes, Truncated, testing::Values(10, long_bytes));

TEST(Endpoint, bounds_what_comes_unasked) {
  const EndpointOptions options{.unexpected_bytes_max = 100'000};
  LoopbackRanks ranks{2, options};
  constexpr unsigned count = 5000;
  const Bytes sent = pattern(1000, 6);
  std::vector<Request> sends;
  for (unsigned i = 0; i < count; ++i) {
    sends.push_back(ranks[0].send({Rank{1}, Tag{i}}, sent));
    ranks.progress();
  }
  for (int i = 0; i < 1000; ++i) {
    ranks.progress();
  }
  const auto pending = std::ranges::count_if(sends, [](const Request& send) { return !send.is_complete(); });
  EXPECT_GT(pending, count - 300) << "above the limit, senders keep their data";
  for (unsigned i = count; i-- > 0;) {
    Bytes received;
    Request receive = ranks[1].receive({Rank{0}, Tag{i}}, received);
    ranks.until([&] { return receive.is_complete(); });
    ASSERT_EQ(received, sent);
  }
  ranks.until([&] { return std::ranges::all_of(sends, &Request::is_complete); });
}

TEST(Endpoint, survives_more_long_receives_than_there_are_slots) {
  LoopbackRanks ranks{2, {}, {.bulk_slot_count = 2}};
  std::deque<Bytes> received(50);
  std::vector<Request> requests;
  const Bytes sent = pattern(20'000, 7);
  for (unsigned i = 0; i < 50; ++i) {
    requests.push_back(ranks[1].receive({Rank{0}, Tag{i}}, received[i]));
    requests.push_back(ranks[0].send({Rank{1}, Tag{i}}, sent));
  }
  ranks.until([&] { return std::ranges::all_of(requests, &Request::is_complete); });
  EXPECT_TRUE(std::ranges::all_of(received, [&](const Bytes& bytes) { return bytes == sent; }));
}

TEST(Endpoint, calls_back_once_whether_asked_before_or_after_completion) {
  LoopbackRanks ranks{2};
  Bytes received;
  Request receive = ranks[1].receive({Rank{0}, Tag{5}}, received);
  int before = 0;
  receive.then([&](const Status& status) { before += static_cast<int>(status.bytes); });
  const Bytes sent = pattern(10, 8);
  Request send = ranks[0].send({Rank{1}, Tag{5}}, sent);
  ranks.until([&] { return receive.is_complete(); });
  EXPECT_EQ(before, 10);
  int after = 0;
  send.then([&](const Status&) { ++after; });
  EXPECT_EQ(after, 1);
}

TEST(Endpoint, takes_back_a_receive_that_was_not_matched) {
  LoopbackRanks ranks{2};
  Bytes first;
  Bytes second;
  Request cancelled = ranks[1].receive({Rank{0}, Tag{5}}, first);
  Request kept = ranks[1].receive({Rank{0}, Tag{5}}, second);
  EXPECT_TRUE(cancelled.cancel());
  EXPECT_FALSE(cancelled.cancel());
  const Bytes sent = pattern(10, 9);
  Request send = ranks[0].send({Rank{1}, Tag{5}}, sent);
  ranks.until([&] { return kept.is_complete(); });
  EXPECT_EQ(second, sent);
  EXPECT_FALSE(kept.cancel());
}

TEST(Endpoint, names_the_messages_that_nobody_received) {
  LoopbackRanks ranks{2};
  const Bytes sent = pattern(10, 10);
  Request send = ranks[0].send({Rank{1}, Tag{77}}, sent);
  ranks.until([&] { return ranks[1].probe({any_source, any_tag}).has_value(); });
  EXPECT_EQ(ranks[1].never_received(), std::vector<std::string>{"10 bytes from rank 0 with tag 77"});
}

TEST(Endpoint, refuses_a_rank_that_does_not_exist) {
  LoopbackRanks ranks{2};
  EXPECT_THROW((void)ranks[0].send({Rank{2}, Tag{0}}, {}), Error);
}

TEST(Endpoint, tells_all_ranks_when_one_stops_the_run) {
  LoopbackRanks ranks{3};
  ranks[1].stop_all(Error{ErrorCode::user_task, "the tree is on fire"});
  ranks.until([&] { return ranks[0].failure() && ranks[2].failure(); });
  EXPECT_EQ(ranks[0].failure()->code(), ErrorCode::peer_failed);
  EXPECT_STREQ(ranks[2].failure()->what(), "rank 1 stopped the run: the tree is on fire");
  Bytes received;
  EXPECT_THROW((void)ranks[0].receive({Rank{1}, Tag{0}}, received), Error);
}

/// Random sends and receives, wild ones too, from both sides; what each receive gets is checked for content and order.
class RandomTraffic : public testing::TestWithParam<unsigned> {};

TEST_P(RandomTraffic, is_received_once_whole_and_in_order) {
  std::mt19937 random{GetParam()};
  const auto below = [&](unsigned n) { return std::uniform_int_distribution<unsigned>{0, n - 1}(random); };
  constexpr unsigned rank_count = 3;
  LoopbackRanks ranks{rank_count,
                      {.eager_bytes_max = below(2) == 0 ? 64U : 100'000U, .unexpected_bytes_max = 1U << below(20)},
                      {.mailbox_packets_max = 8, .bulk_slot_count = 1 + below(4)}};
  struct Sent {
    Bytes data;
    Request request;
  };
  struct Received {
    Bytes data;
    Request request;
  };
  std::deque<Sent> sent;
  std::array<std::deque<Received>, rank_count> received;
  std::array<unsigned, rank_count> expected{};
  constexpr unsigned count = 400;
  for (unsigned i = 0; i < count; ++i) {
    const Rank from{below(rank_count)};
    const Rank to{below(rank_count)};
    // The first bytes name the message, so that any receive can identify it.
    Bytes data = pattern(4 + (below(4) == 0 ? below(60'000) : below(200)), i);
    std::memcpy(data.data(), &i, sizeof i);
    Sent& one = sent.emplace_back(Sent{std::move(data), {}});
    one.request = ranks[from.value()].send({to, Tag{0}}, one.data);
    ++expected[to.value()];
    for (unsigned work = below(4); work > 0; --work) {
      ranks.progress();
    }
    const unsigned receiver = below(rank_count);
    if (received[receiver].size() < expected[receiver]) {
      Received& place = received[receiver].emplace_back();
      place.request = ranks[receiver].receive({any_source, below(2) == 0 ? any_tag : Tag{0}}, place.data);
    }
  }
  for (unsigned rank = 0; rank < rank_count; ++rank) {
    while (received[rank].size() < expected[rank]) {
      Received& place = received[rank].emplace_back();
      place.request = ranks[rank].receive({any_source, any_tag}, place.data);
    }
  }
  const auto is_complete = [](const auto& entry) { return entry.request.is_complete(); };
  ranks.until([&] {
    return std::ranges::all_of(sent, is_complete) &&
           std::ranges::all_of(received, [&](const auto& list) { return std::ranges::all_of(list, is_complete); });
  });
  for (auto& list : received) {
    std::array<std::int64_t, rank_count> last;
    last.fill(-1);
    for (Received& one : list) {
      unsigned number = 0;
      ASSERT_GE(one.data.size(), sizeof number);
      std::memcpy(&number, one.data.data(), sizeof number);
      ASSERT_LT(number, count);
      ASSERT_EQ(one.data, sent[number].data);
      std::int64_t& before = last[one.request.wait().source.value()];
      ASSERT_GT(number, before) << "messages of one source match in the order sent";
      before = number;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomTraffic, testing::Range(0U, 40U));

TEST(Endpoint, lets_only_the_holder_receive_a_claimed_message) {
  LoopbackRanks ranks{2};
  const Bytes first = pattern(100, 1);
  const Bytes second = pattern(50'000, 2);
  const Request sent_first = ranks[0].send({Rank{1}, Tag{1}}, first);
  const Request sent_second = ranks[0].send({Rank{1}, Tag{1}}, second);
  std::optional<ClaimedMessage> one;
  std::optional<ClaimedMessage> two;
  ranks.until([&] { return (one = ranks[1].claim({any_source, Tag{1}})).has_value(); });
  ranks.until([&] { return (two = ranks[1].claim({Rank{0}, any_tag})).has_value(); });
  EXPECT_EQ(one->status().bytes, first.size());
  EXPECT_FALSE(ranks[1].probe({any_source, any_tag}));
  Bytes buffer;
  const Request received_second = ranks[1].receive(std::move(*two), buffer);
  ranks.until([&] { return received_second.is_complete() && sent_second.is_complete(); });
  EXPECT_EQ(buffer, second);
  Bytes fixed(first.size());
  const Request received_first = ranks[1].receive(std::move(*one), std::span{fixed});
  EXPECT_TRUE(received_first.is_complete());
  EXPECT_EQ(fixed, first);
}

TEST(Endpoint, drops_a_claimed_message_with_its_holder) {
  LoopbackRanks ranks{2};
  const Bytes data = pattern(50'000, 1);
  const Request sent = ranks[0].send({Rank{1}, Tag{1}}, data);
  ranks.until([&] { return ranks[1].claim({Rank{0}, Tag{1}}).has_value(); });
  ranks.until([&] { return sent.is_complete(); });
  EXPECT_TRUE(ranks[1].never_received().empty());
}

TEST(Endpoint, tells_of_a_message_that_is_longer_than_memory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer ends a program that allocates so much memory";
#endif
  // Memory that is reserved, not taken: the receiver cannot have as much again.
  constexpr std::size_t huge = std::size_t{1} << 46U;
  void* const reserved = mmap(nullptr, huge, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) {
    GTEST_SKIP() << "this system does not let a process reserve " << huge << " bytes";
  }
  LoopbackRanks ranks{2};
  Bytes buffer;
  Request receive = ranks[1].receive({Rank{0}, Tag{1}}, buffer);
  const Request send = ranks[0].send({Rank{1}, Tag{1}}, {static_cast<const std::byte*>(reserved), huge});
  ranks.until([&] { return receive.is_complete() && send.is_complete(); });
  try {
    receive.wait();
    ADD_FAILURE() << "no machine has so much memory";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
    EXPECT_NE(std::string{error.what()}.find("rank 0 with tag 1"), std::string::npos) << error.what();
  }
  munmap(reserved, huge);
}

TEST(Endpoint, moves_more_than_two_to_the_31_bytes) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer makes this take minutes";
#endif
  constexpr std::size_t beyond = (std::size_t{1} << 31U) + 4097;
  Bytes data(beyond);
  data.front() = std::byte{1};
  data[beyond / 2] = std::byte{2};
  data.back() = std::byte{3};
  LoopbackRanks ranks{2};
  Bytes buffer;
  Request receive = ranks[1].receive({Rank{0}, Tag{1}}, buffer);
  const Request send = ranks[0].send({Rank{1}, Tag{1}}, data);
  ranks.until([&] { return receive.is_complete() && send.is_complete(); });
  EXPECT_EQ(receive.wait().bytes, beyond);
  EXPECT_TRUE(buffer == data);
}

TEST(Endpoint, takes_tags_beyond_those_of_any_mpi) {
  LoopbackRanks ranks{2};
  const Tag tag{0xffff'ffff'ffff'fffeU};
  const Bytes data = pattern(9000, 1);
  Bytes buffer;
  Request receive = ranks[1].receive({Rank{0}, tag}, buffer);
  const Request send = ranks[0].send({Rank{1}, tag}, data);
  ranks.until([&] { return receive.is_complete() && send.is_complete(); });
  EXPECT_EQ(receive.wait().tag, tag);
}

TEST(Endpoint, moves_the_most_urgent_of_several_long_messages_first) {
  LoopbackRanks ranks{2, {.segment_bytes = 10'000, .segments_in_flight = 1}, {.bulk_slot_count = 1}};
  const Bytes data = pattern(200'000, 1);
  std::vector<int> order;
  std::array<Bytes, 3> buffers;
  std::vector<Request> all;
  for (int i = 0; i < 3; ++i) {
    Request receive =
        ranks[1].receive({Rank{0}, Tag{static_cast<std::uint64_t>(i)}}, buffers[static_cast<std::size_t>(i)]);
    receive.then([&order, i](const Status&) { order.push_back(i); });
    all.push_back(receive);
  }
  for (int i = 0; i < 3; ++i) {
    all.push_back(
        ranks[0].send({Rank{1}, Tag{static_cast<std::uint64_t>(i)}}, data, {.priority = static_cast<std::int16_t>(i)}));
  }
  ranks.until([&] { return std::ranges::all_of(all, [](const Request& one) { return one.is_complete(); }); });
  EXPECT_EQ(order, (std::vector{2, 1, 0}));
}

/// What is on its way from a peer delays what comes after it on the same stream: messages come one after another.
TEST(Endpoint, finishes_long_messages_one_after_another_where_the_driver_wants_little_on_its_way) {
  LoopbackRanks ranks{2, {}, {.bulk_in_flight_max = 20'000}};
  const Bytes data = pattern(205'000, 1);
  std::vector<int> order;
  std::array<Bytes, 3> buffers;
  std::vector<Request> all;
  const auto post = [&](int i, std::int16_t priority) {
    Request receive =
        ranks[1].receive({Rank{0}, Tag{static_cast<std::uint64_t>(i)}}, buffers[static_cast<std::size_t>(i)]);
    receive.then([&order, i](const Status&) { order.push_back(i); });
    all.push_back(receive);
    all.push_back(ranks[0].send({Rank{1}, Tag{static_cast<std::uint64_t>(i)}}, data, {.priority = priority}));
  };
  post(0, 0);
  post(1, 0);
  for (int turn = 0; turn < 4; ++turn) {  // both have been announced, and the first has begun
    ranks[0].progress();
    ranks[1].progress();
  }
  post(2, 1);
  ranks.until([&] { return std::ranges::all_of(all, [](const Request& one) { return one.is_complete(); }); });
  EXPECT_EQ(order, (std::vector{2, 0, 1}));
  for (const Bytes& buffer : buffers) {
    EXPECT_EQ(buffer, data);
  }
}

TEST(Endpoint, wakes_each_of_many_waiting_threads_when_its_message_has_come) {
  constexpr std::uint64_t threads_count = 50;
  LoopbackRanks ranks{2};
  std::atomic<std::uint64_t> received = 0;
  std::vector<std::jthread> threads;
  for (std::uint64_t number = 0; number < threads_count; ++number) {
    threads.emplace_back([&, number] {
      for (unsigned round = 0; round < 20; ++round) {
        Bytes buffer;
        ranks[1].receive({Rank{0}, Tag{number}}, buffer).wait();
        EXPECT_EQ(buffer, pattern(8, round));
        ++received;
        const Bytes answer = pattern(1, 0);
        ranks[1].send({Rank{0}, Tag{number}}, answer).wait();
      }
    });
  }
  for (unsigned round = 0; round < 20; ++round) {
    const Bytes data = pattern(8, round);
    std::vector<Bytes> answers(threads_count);
    std::vector<Request> all;
    for (std::uint64_t number = 0; number < threads_count; ++number) {
      all.push_back(ranks[0].receive({Rank{1}, Tag{number}}, answers[number]));
      all.push_back(ranks[0].send({Rank{1}, Tag{number}}, data));
    }
    for (Request& one : all) {
      one.wait();
    }
  }
  threads.clear();
  EXPECT_EQ(received, threads_count * 20);
}

TEST(Endpoint, keeps_everybody_out_of_the_network_while_it_is_held) {
  LoopbackRanks ranks{2};
  Bytes buffer(1);
  Request receive = ranks[1].receive({Rank{0}, Tag{1}}, std::span{buffer});
  const Bytes data(1);
  (void)ranks[0].send({Rank{1}, Tag{1}}, data);
  {
    const auto held = ranks[1].hold();
    std::jthread{[&] { EXPECT_EQ(ranks[1].progress(), 0U); }}.join();
    EXPECT_FALSE(receive.is_complete());
  }
  ranks.until([&] { return receive.is_complete(); });
}

/// More messages than may be under way, and one that is never received.
TEST(Endpoint, leaves_nothing_behind_that_needs_it_after_a_flush) {
  constexpr std::size_t message_count = 3000;
  LoopbackRanks ranks{2};
  const Bytes asked_for = pattern(100, 1);
  const Bytes never_asked_for(long_bytes);
  for (std::size_t i = 0; i < message_count; ++i) {
    static_cast<void>(ranks[0].send({Rank{1}, Tag{1}}, asked_for));
  }
  Request never = ranks[0].send({Rank{1}, Tag{2}}, never_asked_for);
  std::atomic<bool> is_flushed = false;
  std::jthread flushing{[&] {
    ranks[0].flush();
    is_flushed = true;
  }};
  while (!is_flushed) {
    ranks[1].progress();
  }
  for (std::size_t i = 0; i < message_count; ++i) {  // without the sender
    Bytes received;
    Request receive = ranks[1].receive({Rank{0}, Tag{1}}, received);
    for (int looks = 0; looks < 1000 && !receive.test(); ++looks) {
    }
    ASSERT_TRUE(receive.is_complete()) << i;
    ASSERT_EQ(received, asked_for);
  }
  EXPECT_FALSE(never.is_complete());
}

/// A receive may be cancelled while its message comes: exactly one of both happens.
TEST(Endpoint, either_cancels_a_receive_or_completes_it) {
  LoopbackRanks ranks{2};
  constexpr int rounds = 2000;
  int cancelled = 0;
  std::atomic<bool> is_over = false;
  std::jthread poller{[&] {
    while (!is_over) {
      ranks.progress();
    }
  }};
  for (int round = 0; round < rounds; ++round) {
    const Tag tag{static_cast<std::uint64_t>(round)};
    std::array<std::byte, 4> buffer{};
    Request receive = ranks[1].receive({Rank{0}, tag}, std::span{buffer});
    const Bytes data = pattern(4, 1);
    Request sent = ranks[0].send({Rank{1}, tag}, data);
    if (receive.cancel()) {
      ++cancelled;
      EXPECT_FALSE(receive.is_complete());
      Bytes late;
      ranks[1].receive({Rank{0}, tag}, late).wait();
      EXPECT_EQ(late, data);
    } else {
      receive.wait();
      EXPECT_TRUE(std::ranges::equal(buffer, data));
    }
    sent.wait();
  }
  is_over = true;
  EXPECT_LE(cancelled, rounds);
}

/// Keeps its part when it ends, as a system of particles keeps its transforms.
struct KeepsItsPart {
  Endpoint& endpoint;
  std::shared_ptr<int> part = std::make_shared<int>(1);
  ~KeepsItsPart() { endpoint.keep(std::move(part)); }
};

TEST(Endpoint, keeps_what_is_kept_while_it_ends) {
  std::weak_ptr<int> part;
  {
    LoopbackRanks ranks{1};
    auto whole = std::make_shared<KeepsItsPart>(ranks[0]);
    part = whole->part;
    ranks[0].keep(std::move(whole));
    for (int i = 0; i < 3; ++i) {
      ranks[0].keep(std::make_shared<int>(i));
    }
    EXPECT_FALSE(part.expired());
  }
  EXPECT_TRUE(part.expired());
}

TEST(Endpoint, serves_several_threads_of_each_rank_at_once) {
  LoopbackRanks ranks{2};
  constexpr unsigned thread_count = 3;
  constexpr unsigned round_count = 200;
  std::atomic<unsigned> wrong = 0;
  const auto talk = [&](unsigned rank, unsigned thread) {
    const Rank peer{1 - rank};
    for (unsigned round = 0; round < round_count; ++round) {
      const Bytes mine = pattern(round % 10 == 0 ? 20'000 : 16, round + thread);
      Bytes theirs;
      Request receive = ranks[rank].receive({peer, Tag{thread}}, theirs);
      Request send = ranks[rank].send({peer, Tag{thread}}, mine);
      receive.wait();
      send.wait();
      wrong += theirs == mine ? 0U : 1U;
    }
  };
  std::vector<std::jthread> threads;
  for (unsigned rank = 0; rank < 2; ++rank) {
    for (unsigned thread = 0; thread < thread_count; ++thread) {
      threads.emplace_back(talk, rank, thread);
    }
  }
  threads.clear();
  EXPECT_EQ(wrong, 0U);
}

}  // namespace
}  // namespace plait::comm::endpoint_test
