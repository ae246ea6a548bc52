// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/progression.hpp"

#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/topology.hpp"
#include "plait/comm/memory.hpp"

#include "comm/loopback_ranks.hpp"

namespace plait::comm::progression_test {
namespace {

using test::LoopbackRanks;
using test::pattern;

constexpr std::chrono::seconds patience{20};

/// Waits without any call that makes progress.
template <class Done>
bool comes_true(Done is_done) {
  const auto start = std::chrono::steady_clock::now();
  while (!is_done()) {
    if (std::chrono::steady_clock::now() - start > patience) {
      return false;
    }
    std::this_thread::yield();
  }
  return true;
}

void let_pass(std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  comes_true([&] { return std::chrono::steady_clock::now() >= end; });
}

class Mode : public testing::TestWithParam<ProgressionMode> {};

TEST_P(Mode, moves_long_messages_while_nobody_calls) {
  LoopbackRanks ranks{2, {.segment_bytes = 50'000}};
  const Progression first{ranks[0], {.mode = GetParam()}};
  const Progression second{ranks[1], {.mode = GetParam()}};
  for (unsigned round = 0; round < 3; ++round) {
    const Bytes data = pattern(1'000'000, round);
    Bytes buffer(data.size());
    const Request receive = ranks[1].receive({Rank{0}, Tag{1}}, std::span{buffer});
    const Request send = ranks[0].send({Rank{1}, Tag{1}}, data);
    ASSERT_TRUE(comes_true([&] { return send.is_complete() && receive.is_complete(); }));
    EXPECT_EQ(buffer, data);
  }
}

TEST_P(Mode, places_puts_and_answers_gets_while_nobody_calls) {
  LoopbackRanks ranks{2, {.segment_bytes = 50'000}};
  const Progression first{ranks[0], {.mode = GetParam()}};
  const Progression second{ranks[1], {.mode = GetParam()}};
  for (const std::size_t size : {std::size_t{8}, std::size_t{200'000}}) {
    const Bytes data = pattern(size, 1);
    Bytes target(size);
    Bytes into(size);
    const ExposedMemory memory{ranks[1], target};
    const Request written = put(ranks[0], memory.key(), 0, data, {.is_synchronous = true});
    ASSERT_TRUE(comes_true([&] { return written.is_complete() && memory.arrived() == 1; }));
    const Request read = get(ranks[0], memory.key(), 0, into);
    ASSERT_TRUE(comes_true([&] { return read.is_complete(); }));
    EXPECT_EQ(into, data);
  }
}

TEST_P(Mode, does_not_poll_while_nothing_is_in_flight) {
  LoopbackRanks ranks{2};
  const ProgressionOptions options{.mode = GetParam(), .linger = std::chrono::milliseconds{1}};
  const Progression first{ranks[0], options};
  const Progression second{ranks[1], options};
  const Bytes data(10);
  Bytes buffer(10);
  const Request receive = ranks[1].receive({Rank{0}, Tag{1}}, std::span{buffer});
  (void)ranks[0].send({Rank{1}, Tag{1}}, data);
  ASSERT_TRUE(comes_true([&] { return receive.is_complete(); }));
  const auto polls = [&] { return ranks[0].activity().poll_count() + ranks[1].activity().poll_count(); };
  // It has come to rest when a while passes without a poll.
  std::uint64_t seen = 0;
  EXPECT_TRUE(comes_true([&] {
    let_pass(std::chrono::milliseconds{20});
    return std::exchange(seen, polls()) == polls();
  }));
}

/// Needs a number of polls whenever it is started.
class Counted : public PolledBeside {
 public:
  void start(int polls) {
    left_.store(polls);
    if (const std::function<void()>* const bell = doorbell_.exchange(nullptr)) {
      (*bell)();
    }
  }
  [[nodiscard]] bool is_done() const { return left_.load() <= 0; }
  [[nodiscard]] bool needs_polls() const noexcept override { return !is_done(); }
  void poll() noexcept override { --left_; }
  [[nodiscard]] bool arm(const std::function<void()>* bell) override {
    doorbell_.store(bell);
    return is_done();
  }

 private:
  std::atomic<int> left_ = 0;
  std::atomic<const std::function<void()>*> doorbell_ = nullptr;
};

TEST_P(Mode, polls_what_is_beside_the_endpoint_whenever_that_needs_it) {
  LoopbackRanks ranks{1};
  Counted beside;
  const Progression progression{ranks[0],
                                {.mode = GetParam(), .linger = std::chrono::milliseconds{1}, .beside = &beside}};
  for (int round = 0; round < 3; ++round) {
    beside.start(10);
    EXPECT_TRUE(comes_true([&] { return beside.is_done(); }));
    let_pass(std::chrono::milliseconds{10});  // the threads are asleep by then
  }
}

INSTANTIATE_TEST_SUITE_P(All,
                         Mode,
                         testing::Values(ProgressionMode::timer,
                                         ProgressionMode::idle_cores,
                                         ProgressionMode::dedicated),
                         [](const auto& mode) { return std::string{to_string(mode.param)}; });

/// Polls in the last tenth of a second of two, while another thread computes on the core of the dedicated one.
std::uint64_t polls_beside_a_computation(const std::vector<int>& cores) {
  std::uint64_t polls = 0;
  std::jthread{[&] {
    bind_to_cores(cores);
    LoopbackRanks ranks{2};
    const Progression progression{ranks[0],
                                  {.mode = ProgressionMode::dedicated, .core = cores.size() > 1 ? cores[0] : -1}};
    bind_to_core(cores[0]);
    Bytes buffer(1);
    Request receive = ranks[0].receive({Rank{1}, Tag{1}}, std::span{buffer});
    const auto start = std::chrono::steady_clock::now();
    const auto compute_until = [&](std::chrono::milliseconds end) {
      while (std::chrono::steady_clock::now() - start < end) {
      }
    };
    compute_until(std::chrono::milliseconds{1900});
    const std::uint64_t before = ranks[0].activity().poll_count();
    compute_until(std::chrono::milliseconds{2000});
    polls = ranks[0].activity().poll_count() - before;
    EXPECT_TRUE(receive.cancel());
  }}.join();
  return polls;
}

TEST(Progression, a_dedicated_thread_without_a_core_of_its_own_is_the_timer) {
  const std::vector<int> cores = usable_cores();
  EXPECT_LT(polls_beside_a_computation({cores[0]}), 2000U) << "the only core";
  if (cores.size() > 1) {
    EXPECT_LT(polls_beside_a_computation(cores), 2000U) << "a core that others use";
  }
}

TEST(Progression, runs_handlers_of_active_messages_while_nobody_calls) {
  LoopbackRanks ranks{2};
  std::atomic<int> count = 0;
  ranks[1].on(HandlerId{1}, [&](const ActiveMessage&) { ++count; });
  const Progression listening{ranks[1], {.linger = std::chrono::milliseconds{1}}};
  let_pass(std::chrono::milliseconds{20});
  ranks[0].post(Rank{1}, HandlerId{1}, {});
  EXPECT_TRUE(comes_true([&] { return count == 1; }));
}

TEST(Progression, none_leaves_everything_to_the_program) {
  LoopbackRanks ranks{2};
  const Progression nobody{ranks[0], {.mode = ProgressionMode::none}};
  Bytes buffer(1);
  Request receive = ranks[0].receive({Rank{1}, Tag{1}}, std::span{buffer});
  let_pass(std::chrono::milliseconds{5});
  EXPECT_EQ(ranks[0].activity().poll_count(), 0U);
  EXPECT_TRUE(receive.cancel());
}

TEST(Progression, a_timer_at_rest_can_be_hurried_and_ended) {
  LoopbackRanks ranks{2, {.segment_bytes = 50'000}};
  constexpr nanoseconds long_time = std::chrono::minutes{10};
  const ProgressionOptions options{.period_max = long_time, .linger = long_time};
  Progression first{ranks[0], options};
  Progression second{ranks[1], options};
  const Bytes data = pattern(1'000'000, 1);
  Bytes buffer(data.size());
  let_pass(std::chrono::milliseconds{20});  // the timers rest
  const Request receive = ranks[1].receive({Rank{0}, Tag{1}}, std::span{buffer});
  const Request send = ranks[0].send({Rank{1}, Tag{1}}, data);
  EXPECT_TRUE(comes_true([&] {
    first.hurry();
    second.hurry();
    return send.is_complete() && receive.is_complete();
  }));
  EXPECT_EQ(buffer, data);
}

TEST(Progression, names_its_modes) {
  for (const char* name : {"none", "timer", "idle", "dedicated"}) {
    ASSERT_TRUE(progression_mode(name));
    EXPECT_STREQ(to_string(*progression_mode(name)), name);
  }
  EXPECT_FALSE(progression_mode("sometimes"));
}

TEST(Progression, refuses_periods_that_make_no_sense) {
  LoopbackRanks ranks{1};
  EXPECT_THROW((Progression{ranks[0], {.period_min = nanoseconds{0}}}), Error);
}

}  // namespace
}  // namespace plait::comm::progression_test
