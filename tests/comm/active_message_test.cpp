// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/active_message.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "comm/loopback_ranks.hpp"

namespace plait::comm::active_message_test {
namespace {

using test::LoopbackRanks;
using test::pattern;

struct Migrant {
  static constexpr HandlerId handler{3};
  std::uint64_t number;
  double mass;
};

TEST(ActiveMessage, calls_the_handler_with_source_and_value_in_the_order_posted) {
  LoopbackRanks ranks{2};
  std::vector<std::uint64_t> numbers;
  on<Migrant>(ranks[1], [&](Rank source, const Migrant& migrant) {
    EXPECT_EQ(source, Rank{0});
    EXPECT_EQ(migrant.mass, 0.5);
    numbers.push_back(migrant.number);
  });
  constexpr std::uint64_t count = 1000;
  for (std::uint64_t number = 0; number < count; ++number) {
    post(ranks[0], Rank{1}, Migrant{number, 0.5});
  }
  ranks.until([&] { return numbers.size() == count; });
  EXPECT_TRUE(std::ranges::is_sorted(numbers));
}

TEST(ActiveMessage, carries_payloads_longer_than_a_packet) {
  LoopbackRanks ranks{2};
  Bytes received;
  ranks[1].on(HandlerId{0},
              [&](const ActiveMessage& message) { received.assign(message.payload.begin(), message.payload.end()); });
  {
    const Bytes sent = pattern(200'000, 1);
    ranks[0].post(Rank{1}, HandlerId{0}, sent);  // copied: `sent` may go
  }
  ranks.until([&] { return !received.empty(); });
  EXPECT_EQ(received, pattern(200'000, 1));
}

TEST(ActiveMessage, handlers_may_post) {
  LoopbackRanks ranks{2};
  std::uint64_t last = 0;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    on<Migrant>(ranks[rank], [&ranks, &last, rank](Rank source, const Migrant& migrant) {
      last = migrant.number;
      if (migrant.number < 100) {
        post(ranks[rank], source, Migrant{migrant.number + 1, 0});
      }
    });
  }
  post(ranks[0], Rank{1}, Migrant{0, 0});
  ranks.until([&] { return last == 100; });
}

TEST(ActiveMessage, without_a_handler_stops_the_run_and_says_which) {
  LoopbackRanks ranks{2};
  post(ranks[0], Rank{1}, Migrant{0, 0});
  ranks.until([&] { return ranks[0].failure() && ranks[1].failure(); });
  EXPECT_NE(std::string{ranks[1].failure()->what()}.find("handler 3"), std::string::npos);
}

TEST(ActiveMessage, claims_the_same_handlers_on_every_rank_beside_those_of_the_program) {
  LoopbackRanks ranks{2};
  const std::array<HandlerId, 2> first{ranks[0].claim_handler(), ranks[0].claim_handler()};
  const std::array<HandlerId, 2> second{ranks[1].claim_handler(), ranks[1].claim_handler()};
  EXPECT_EQ(first, second);
  EXPECT_NE(first[0], first[1]);
  EXPECT_FALSE(ranks[1].activity().is_listening());
  std::array<Bytes, 2> received;
  std::uint64_t program = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    ranks[1].on(second[i], [&received, i](const ActiveMessage& message) {
      received[i].assign(message.payload.begin(), message.payload.end());
    });
  }
  on<Migrant>(ranks[1], [&](Rank, const Migrant& migrant) { program = migrant.number; });
  EXPECT_TRUE(ranks[1].activity().is_listening());
  ranks[0].post(Rank{1}, first[0], pattern(100'000, 1));  // longer than a packet
  ranks[0].post(Rank{1}, first[1], pattern(10, 2));
  post(ranks[0], Rank{1}, Migrant{7, 0});
  ranks.until([&] { return program == 7 && !received[0].empty() && !received[1].empty(); });
  EXPECT_EQ(received[0], pattern(100'000, 1));
  EXPECT_EQ(received[1], pattern(10, 2));
}

TEST(ActiveMessage, is_refused_when_its_handler_has_been_taken_off) {
  LoopbackRanks ranks{2};
  (void)ranks[0].claim_handler();
  const HandlerId kept = ranks[0].claim_handler();
  const HandlerId taken_off = ranks[1].claim_handler();
  ASSERT_EQ(ranks[1].claim_handler(), kept);
  int calls = 0;
  ranks[1].on(taken_off, [&](const ActiveMessage&) { ++calls; });
  ranks[1].on(kept, [&](const ActiveMessage&) { ++calls; });
  ranks[1].off(taken_off);
  ranks[1].off(HandlerId{17});  // which has no handler
  ranks[0].post(Rank{1}, kept, {});
  ranks.until([&] { return calls == 1; });
  EXPECT_NE(ranks[1].claim_handler(), taken_off) << "its id is not given again";
  ranks[0].post(Rank{1}, taken_off, {});
  ranks.until([&] { return ranks[0].failure() && ranks[1].failure(); });
  EXPECT_NE(std::string{ranks[1].failure()->what()}.find("has not set"), std::string::npos);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace plait::comm::active_message_test
