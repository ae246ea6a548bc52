// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/store/sort.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <random>

#include <gtest/gtest.h>

#include "plait/base/clock.hpp"
#include "plait/net/loopback/loopback.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::particles::sort_test {
namespace {

/// The workers of one rank that is alone.
class Workers {
 public:
  explicit Workers(std::uint32_t count) : scheduler_{endpoint_, recorder_, {.worker_count = count}} {}
  [[nodiscard]] task::Scheduler& scheduler() { return scheduler_; }

 private:
  SteadyClock clock_;
  trace::Recorder recorder_{clock_};
  net::LoopbackNetwork network_{1};
  std::unique_ptr<net::Driver> driver_{network_.driver(Rank{0})};
  comm::Endpoint endpoint_{*driver_, recorder_};
  task::Scheduler scheduler_;
};

struct Body {
  std::uint64_t id = 0;
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  std::array<double, 4> rest{};
  friend bool operator==(const Body&, const Body&) = default;
};

enum class Keys { random, few, all_equal, ascending, descending, clustered };

std::vector<Body> make_bodies(std::size_t count, Keys keys, std::uint64_t seed) {
  std::mt19937_64 random{seed};
  std::vector<Body> bodies(count);
  for (std::size_t i = 0; i < count; ++i) {
    bodies[i].id = i;
    bodies[i].rest[3] = static_cast<double>(i);
    switch (keys) {
      case Keys::random:
        bodies[i].high = random();
        break;
      case Keys::few:
        bodies[i].high = random() % 7;
        break;
      case Keys::all_equal:
        bodies[i].high = 42;
        break;
      case Keys::ascending:
        bodies[i].high = i;
        break;
      case Keys::descending:
        bodies[i].high = count - i;
        break;
      case Keys::clustered:  // most in a corner
        bodies[i].high = random() % 100 == 0 ? random() : random() % 1000;
        break;
    }
    bodies[i].low = random() % 3;
  }
  return bodies;
}

class Sort : public testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Workers, Sort, testing::Values(1U, 2U, 3U));

TEST_P(Sort, does_what_a_stable_sort_does_whatever_the_keys) {
  Workers workers{GetParam()};
  StructSort<Body> sort{workers.scheduler()};
  for (const Keys keys :
       {Keys::random, Keys::few, Keys::all_equal, Keys::ascending, Keys::descending, Keys::clustered}) {
    for (const std::size_t count : {0U, 1U, 2U, 3U, 100U, 20'000U, 70'001U}) {
      std::vector<Body> bodies = make_bodies(count, keys, count);
      std::vector<Body> expected = bodies;
      std::ranges::stable_sort(expected, {}, &Body::high);
      sort(bodies, [](const Body& body) { return body.high; });
      ASSERT_EQ(bodies, expected) << count << " of kind " << static_cast<int>(keys);
    }
  }
}

TEST_P(Sort, does_so_with_keys_of_128_bits) {
  Workers workers{GetParam()};
  StructSort<Body> sort{workers.scheduler()};
  for (const Keys keys : {Keys::random, Keys::few, Keys::all_equal, Keys::clustered}) {
    for (const std::size_t count : {1U, 20'000U, 50'001U}) {
      std::vector<Body> bodies = make_bodies(count, keys, count);
      std::vector<Body> expected = bodies;
      const auto key = [](const Body& body) { return Key128{body.high, body.low}; };
      std::ranges::stable_sort(expected, {}, key);
      sort(bodies, key);
      ASSERT_EQ(bodies, expected) << count << " of kind " << static_cast<int>(keys);
    }
  }
}

TEST(SortKey, orders_numbers_as_they_are) {
  const std::array numbers{-std::numeric_limits<double>::infinity(),
                           -1e300,
                           -1.0,
                           -1e-310,
                           -0.0,
                           0.0,
                           1e-310,
                           0.5,
                           1.0,
                           1e300,
                           std::numeric_limits<double>::infinity()};
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    EXPECT_LT(key_of(numbers[i - 1]), key_of(numbers[i])) << numbers[i];
  }
}

}  // namespace
}  // namespace plait::particles::sort_test
