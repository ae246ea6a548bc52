// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/packing.hpp"

#include <deque>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/net/sim/sim.hpp"

#include "comm/loopback_ranks.hpp"

namespace plait::comm::packing_test {
namespace {

WaitingMessage message(std::uint32_t comm, std::int16_t priority) {
  return {.comm = CommId{comm}, .priority = priority};
}

TEST(Packing, immediate_lets_each_message_leave_by_itself) {
  const auto packing = make_packing("immediate");
  EXPECT_FALSE(packing->gathers());
  WaitingMessage first = message(0, 0);
  WaitingMessage second = message(0, 9);
  packing->add(first);
  packing->add(second);
  EXPECT_EQ(packing->front(0), &first);
  packing->pop();
  EXPECT_EQ(packing->front(1), nullptr);
  EXPECT_EQ(packing->front(0), &second);
}

TEST(Packing, aggregate_lets_them_leave_together_in_order) {
  const auto packing = make_packing("aggregate");
  EXPECT_TRUE(packing->gathers());
  WaitingMessage first = message(0, 0);
  WaitingMessage second = message(1, 9);
  packing->add(first);
  packing->add(second);
  EXPECT_EQ(packing->front(0), &first);
  packing->pop();
  EXPECT_EQ(packing->front(1), &second);
  packing->pop();
  EXPECT_TRUE(packing->is_empty());
  EXPECT_EQ(packing->front(0), nullptr);
}

TEST(Packing, priority_prefers_the_communicator_with_the_most_urgent_message) {
  const auto packing = make_packing("priority");
  WaitingMessage a1 = message(1, 0);
  WaitingMessage a2 = message(1, 2);
  WaitingMessage b1 = message(2, 1);
  for (WaitingMessage* one : {&b1, &a1, &a2}) {
    packing->add(*one);
  }
  EXPECT_EQ(packing->front(0), &a1) << "a2 is the most urgent, and does not overtake a1";
  packing->pop();
  EXPECT_EQ(packing->front(1), &a2);
  packing->pop();
  EXPECT_EQ(packing->front(2), &b1);
}

TEST(Packing, refuses_a_name_that_is_none_and_lists_those_that_are) {
  try {
    (void)make_packing("agregate");
    FAIL() << "there is no such strategy";
  } catch (const Error& error) {
    EXPECT_NE(std::string{error.what()}.find("aggregate"), std::string::npos);
  }
}

/// A made-up strategy: two messages share a packet.
class Pairs final : public Packing {
 public:
  [[nodiscard]] bool gathers() const noexcept override { return true; }
  void add(WaitingMessage& message) override { waiting_.push_back(&message); }
  [[nodiscard]] WaitingMessage* front(std::size_t packed) const override {
    return packed == 2 || waiting_.empty() ? nullptr : waiting_.front();
  }
  void pop() override { waiting_.pop_front(); }
  [[nodiscard]] bool is_empty() const noexcept override { return waiting_.empty(); }

 private:
  std::deque<WaitingMessage*> waiting_;
};

/// All strategies, and the made-up one, by a line in the table.
std::vector<PackingEntry> table() {
  std::vector<PackingEntry> all{packing_entries().begin(), packing_entries().end()};
  all.push_back({"pairs", []() -> std::unique_ptr<Packing> { return std::make_unique<Pairs>(); }});
  return all;
}

class AnyPacking : public testing::TestWithParam<PackingEntry> {};

TEST_P(AnyPacking, keeps_the_order_within_a_communicator_and_loses_nothing) {
  std::mt19937 random{3};
  const auto packing = make_packing(GetParam().name, table());
  std::deque<WaitingMessage> messages;
  std::map<CommId, std::deque<WaitingMessage*>> model;
  std::size_t waiting = 0;
  for (int round = 0; round < 20'000; ++round) {
    if (random() % 2 == 0) {
      messages.push_back(message(random() % 4, static_cast<std::int16_t>(random() % 5)));
      packing->add(messages.back());
      model[messages.back().comm].push_back(&messages.back());
      ++waiting;
    } else if (WaitingMessage* const next = packing->front(0)) {
      ASSERT_EQ(next, model[next->comm].front());
      model[next->comm].pop_front();
      packing->pop();
      --waiting;
    }
    ASSERT_EQ(packing->is_empty(), waiting == 0);
  }
}

INSTANTIATE_TEST_SUITE_P(All, AnyPacking, testing::ValuesIn(table()), [](const auto& entry) {
  return std::string{entry.param.name};
});

/// Packets that a burst of 100 short messages takes over a link that is slow to leave.
std::uint64_t packets_of_a_burst(const char* packing) {
  net::SimNetwork network{2, {.cost = {.gap = std::chrono::microseconds{1}}, .packet_bytes_max = 4096}};
  const auto from = network.driver(Rank{0});
  const auto to = network.driver(Rank{1});
  trace::Recorder recorder{network.clock()};
  Endpoint sender{*from, recorder, {.packing = packing}};
  Endpoint receiver{*to, recorder, {.packing = packing}};
  const Bytes data(8);
  std::vector<Request> receives;
  Bytes buffer(8);
  for (int i = 0; i < 100; ++i) {
    receives.push_back(receiver.receive({Rank{0}, Tag{1}}, std::span{buffer}));
    (void)sender.send({Rank{1}, Tag{1}}, data);
  }
  while (!receives.back().is_complete()) {
    sender.progress();
    receiver.progress();
    if (!network.advance()) {
      break;
    }
  }
  EXPECT_TRUE(receives.back().is_complete());
  return sender.activity().packet_count();
}

TEST(Packing, aggregate_takes_few_packets_for_a_burst_over_a_busy_link) {
  EXPECT_GE(packets_of_a_burst("immediate"), 100U);
  EXPECT_LE(packets_of_a_burst("aggregate"), 10U);
  EXPECT_LE(packets_of_a_burst("priority"), 10U);
}

}  // namespace
}  // namespace plait::comm::packing_test
