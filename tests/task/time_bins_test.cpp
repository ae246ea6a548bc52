// SPDX-License-Identifier: Apache-2.0
#include "plait/task/time_bins.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace plait::task::time_bins_test {
namespace {

using Object = TimeBins::Object;

TimeBin bin(std::uint64_t number) {
  return TimeBin{static_cast<std::uint8_t>(number)};
}

std::vector<Object> sorted(std::vector<Object> objects) {
  std::ranges::sort(objects);
  return objects;
}

/// What is active at `now`, and when anything is next, by a search of all objects.
struct Looked {
  Looked(const TimeBins& bins, Ticks now) {
    for (Object object = 0; object < bins.object_count(); ++object) {
      if (is_active(bins.bin_of(object), now)) {
        active.push_back(object);
      }
      next = std::min(next, next_active(bins.bin_of(object), now));
    }
  }
  std::vector<Object> active;
  Ticks next = line_ticks;
};

TEST(TimeBins, give_the_active_objects_and_the_next_time_as_a_look_at_all_would) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random{seed};
    TimeBins bins{1 + seed * 3};
    Ticks now = 0;
    for (int step = 0; step < 300; ++step) {
      const Looked looked{bins, now};
      ASSERT_EQ(sorted(bins.active(now)), looked.active) << "seed " << seed << " at " << now;
      ASSERT_EQ(bins.active_count(now), looked.active.size());
      ASSERT_EQ(bins.next_time(now), looked.next);
      for (const Object object : bins.active(now)) {
        ASSERT_EQ(bins.step_of(object).end, now) << "an object is active when its step ends, and not before";
        const TimeBin wanted = bin(random() % 12);
        const TimeBin got = bins.start(object, wanted, now);
        ASSERT_EQ(got, std::min(wanted, longest_active(now)));
        ASSERT_EQ(bins.step_of(object).begin, now);
        ASSERT_EQ(bins.step_of(object).end, now + ticks_of(got));
      }
      const auto sleeper = static_cast<Object>(random() % bins.object_count());
      bins.shorten(sleeper, bin(random() % 12), now);
      now = bins.next_time(now);
    }
  }
}

TEST(TimeBins, without_objects_have_nothing_before_the_end) {
  const TimeBins bins{0};
  EXPECT_EQ(bins.next_time(0), line_ticks);
  EXPECT_EQ(bins.active_count(0), 0U);
}

TEST(TimeBins, wake_an_object_when_the_shorter_bin_is_active_next) {
  TimeBins bins{1};
  bins.start(0, bin(5), 0);  // 64 ticks
  EXPECT_TRUE(bins.shorten(0, bin(2), 20));
  EXPECT_EQ(bins.step_of(0).begin, 0U) << "it is still in the step that began then";
  EXPECT_EQ(bins.step_of(0).end, 24U);
  EXPECT_FALSE(bins.shorten(0, bin(3), 20)) << "it is in a shorter one already";
  EXPECT_EQ(bins.next_time(20), 24U);
}

/// Objects in a row, each with a random bin and steps under way at `now`.
TimeBins random_bins(std::size_t count, std::mt19937& random, Ticks now) {
  TimeBins bins{count};
  for (Object object = 0; object < count; ++object) {
    bins.start(object, bin(random() % 20), 0);
    for (Ticks time = bins.step_of(object).end; time <= now; time = bins.step_of(object).end) {
      bins.start(object, bins.bin_of(object), time);
    }
  }
  return bins;
}

std::vector<std::vector<Object>> random_neighbours(std::size_t count, std::mt19937& random) {
  std::vector<std::vector<Object>> neighbours(count);
  for (std::size_t link = 0; link < 2 * count; ++link) {
    const auto left = static_cast<Object>(random() % count);
    const auto right = static_cast<Object>(random() % count);
    neighbours[left].push_back(right);
    neighbours[right].push_back(left);
  }
  return neighbours;
}

TEST(TimeBins, limit_neighbours_to_a_factor_of_four_whatever_the_order) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    std::mt19937 random{seed};
    constexpr std::size_t count = 40;
    const Ticks now = (random() % 64) * 2;
    const TimeBins before = random_bins(count, random, now);
    const auto neighbours = random_neighbours(count, random);

    // By brute force: sweeps over all pairs, until nothing changes.
    std::vector<TimeBin> expected(count);
    for (Object object = 0; object < count; ++object) {
      expected[object] = before.bin_of(object);
    }
    for (bool has_changed = true; has_changed;) {
      has_changed = false;
      for (Object object = 0; object < count; ++object) {
        for (const Object neighbour : neighbours[object]) {
          const unsigned limit = expected[neighbour].value() + 2U;
          if (expected[object].value() > limit) {
            expected[object] = bin(limit);
            has_changed = true;
          }
        }
      }
    }
    for (int order = 0; order < 5; ++order) {
      TimeBins bins = before;
      std::vector<Object> changed(count);
      std::iota(changed.begin(), changed.end(), Object{0});
      std::ranges::shuffle(changed, random);
      std::vector<Object> shortened =
          bins.limit(changed, [&](Object object) { return std::span{neighbours[object]}; }, now);
      std::vector<Object> differing;
      for (Object object = 0; object < count; ++object) {
        ASSERT_EQ(bins.bin_of(object), expected[object]) << "seed " << seed << " object " << object;
        if (bins.bin_of(object) != before.bin_of(object)) {
          differing.push_back(object);
          EXPECT_EQ(bins.step_of(object).begin, before.step_of(object).begin);
          EXPECT_EQ(bins.step_of(object).end, next_active(expected[object], now));
        }
      }
      EXPECT_EQ(shortened, differing);
    }
  }
}

class Activation : public testing::Test {
 protected:
  static std::set<std::uint64_t> numbers_of(std::span<const Task> tasks, const std::vector<Task>& all) {
    std::set<std::uint64_t> numbers;
    for (const Task& task : tasks) {
      numbers.insert(static_cast<std::uint64_t>(std::ranges::find(all, task) - all.begin()));
    }
    EXPECT_EQ(numbers.size(), tasks.size()) << "no task twice";
    return numbers;
  }
  Graph graph_;
};

TEST_F(Activation, takes_the_tasks_of_the_active_objects_each_once) {
  std::mt19937 random{5};
  constexpr std::size_t count = 30;
  TimeBins bins = random_bins(count, random, 0);
  ActiveTasks active{count};
  std::vector<Task> tasks;
  std::vector<std::pair<Object, Object>> objects_of;
  for (int number = 0; number < 100; ++number) {
    tasks.push_back(graph_.task("pair", [] {}));
    objects_of.emplace_back(static_cast<Object>(random() % count), static_cast<Object>(random() % count));
    active.add(tasks.back(), {objects_of.back().first, objects_of.back().second});
  }
  tasks.push_back(graph_.task("collect", [] {}));
  active.add_always(tasks.back());
  Ticks now = 0;
  for (int step = 0; step < 200; ++step) {
    std::set<std::uint64_t> expected{100};
    for (std::uint64_t number = 0; number < 100; ++number) {
      if (is_active(std::min(bins.bin_of(objects_of[number].first), bins.bin_of(objects_of[number].second)), now)) {
        expected.insert(number);
      }
    }
    ASSERT_EQ(numbers_of(active.at(bins, now), tasks), expected) << "at " << now;
    for (const Object object : bins.active(now)) {
      bins.start(object, bin(random() % 10), now);
    }
    now = bins.next_time(now);
  }
}

}  // namespace
}  // namespace plait::task::time_bins_test
