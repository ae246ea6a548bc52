// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/detail/polling.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include <gtest/gtest.h>

namespace plait::replay::detail::polling_test {
namespace {

using trace::CallClass;
using trace::CallEvent;

/// Calls of one thread. Each takes 10 ns, and each record of polls 100 ns a poll.
class Calls {
 public:
  Calls& polls(std::uint32_t site, std::uint32_t polls) {
    return add(CallClass::completes, site, 0, polls - 1, nanoseconds{100} * polls);
  }
  Calls& finds(std::uint32_t site) { return add(CallClass::completes, site, 1, 0, nanoseconds{10}); }
  Calls& posts(std::uint32_t site) { return add(CallClass::begins_message, site, 0, 0, nanoseconds{10}); }
  Calls& computes(nanoseconds time) {
    now_ += time;
    return *this;
  }

  [[nodiscard]] std::vector<bool> result() const {
    std::vector<const CallEvent*> pointers;
    std::ranges::transform(calls_, std::back_inserter(pointers), [](const CallEvent& call) { return &call; });
    return tests_of_work(pointers);
  }

 private:
  Calls& add(CallClass what, std::uint32_t site, std::uint32_t count, std::uint32_t repeats, nanoseconds took) {
    calls_.push_back({.what = what,
                      .function = trace::NameId{0},
                      .site = trace::NameId{site},
                      .start = now_,
                      .end = now_ + took,
                      .count = count,
                      .repeats = repeats});
    now_ += took + nanoseconds{10};
    return *this;
  }

  std::vector<CallEvent> calls_;
  nanoseconds now_{};
};

using Flags = std::vector<bool>;

TEST(Polling, a_loop_that_ends_when_it_finds_something_waits) {
  EXPECT_EQ(Calls{}.polls(1, 500).finds(1).polls(1, 700).finds(1).result(), (Flags{false, false, false, false}));
}

TEST(Polling, a_loop_that_goes_on_without_having_found_anything_works) {
  EXPECT_EQ(Calls{}.polls(1, 500).posts(2).polls(1, 700).finds(1).result(), (Flags{true, false, true, true}));
}

TEST(Polling, a_loop_that_another_test_ends_works) {
  EXPECT_EQ(Calls{}.polls(1, 500).finds(2).polls(1, 700).finds(1).result(), (Flags{true, false, true, true}));
}

TEST(Polling, a_loop_over_two_requests_waits_if_either_ends_it) {
  EXPECT_EQ(Calls{}.polls(1, 50).polls(2, 50).polls(1, 1).finds(2).result(), (Flags{false, false, false, false}));
}

TEST(Polling, a_quarter_of_the_time_decides) {
  EXPECT_EQ(Calls{}.polls(1, 700).finds(1).polls(1, 300).posts(2).result(), (Flags{true, true, true, false}));
  EXPECT_EQ(Calls{}.polls(1, 800).finds(1).polls(1, 200).posts(2).result(), (Flags{false, false, false, false}));
}

TEST(Polling, single_polls_between_computing_decide_nothing) {
  Calls calls;
  for (int i = 0; i < 20; ++i) {
    calls.polls(1, 1).computes(nanoseconds{5000});
  }
  EXPECT_EQ(calls.result(), Flags(20, false));
}

TEST(Polling, a_poll_that_comes_later_begins_a_series_of_its_own) {
  EXPECT_EQ(Calls{}.polls(1, 500).computes(nanoseconds{5000}).finds(1).result(), (Flags{true, true}));
}

}  // namespace
}  // namespace plait::replay::detail::polling_test
