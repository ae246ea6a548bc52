// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/synthetic.hpp"

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/random.hpp"
#include "plait/replay/detail/description.hpp"

namespace plait::replay::synthetic_test {
namespace {

using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint64_t, std::uint64_t>;

/// How many more sends than receives there are of each (step, source, destination, tag, bytes); empty when all match.
std::map<Key, int> unmatched(const Schedule& schedule) {
  std::map<Key, int> open;
  for (std::uint32_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    for (const Stream& stream : schedule.ranks[rank].streams) {
      for (const Operation& operation : stream.operations) {
        if (operation.action == Action::send) {
          ++open[{operation.step, rank, operation.peer, operation.tag, operation.bytes}];
        } else if (operation.action == Action::receive) {
          --open[{operation.step, operation.peer, rank, operation.tag, operation.bytes}];
        }
      }
    }
  }
  std::erase_if(open, [](const auto& entry) { return entry.second == 0; });
  return open;
}

struct Totals {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t waited = 0;
};

Totals totals_of(const Schedule& schedule) {
  Totals totals;
  for (const RankSchedule& rank : schedule.ranks) {
    for (const Stream& stream : rank.streams) {
      for (const Operation& operation : stream.operations) {
        totals.messages += operation.action == Action::send ? 1 : 0;
        totals.bytes += operation.action == Action::send ? operation.bytes : 0;
        totals.waited += operation.action == Action::wait ? operation.count : 0;
      }
    }
  }
  return totals;
}

std::string trouble_of(const std::string& description) {
  const auto schedule = synthetic_schedule(description);
  return schedule ? "" : schedule.error().what();
}

TEST(Synthetic, has_as_many_messages_as_asked_for_each_with_both_sides_and_a_wait) {
  for (const char* pattern : {"halo", "nearest", "all-to-all", "multicast", "random", "few-large"}) {
    const auto text = std::string{"pairs=123,ranks=6,steps=3,mean=6KiB,distribution=lognormal,pattern="} + pattern;
    Schedule schedule = synthetic_schedule(text).value();
    EXPECT_EQ(schedule.ranks.size(), 6) << pattern;
    EXPECT_EQ(unmatched(schedule), (std::map<Key, int>{})) << pattern;
    EXPECT_EQ(totals_of(schedule).messages, 369) << pattern;
    EXPECT_EQ(totals_of(schedule).waited, 2 * 369) << pattern;
  }
}

TEST(Synthetic, draws_sizes_around_the_mean) {
  for (const char* distribution : {"fixed", "exponential", "lognormal"}) {
    const auto text = std::string{"pairs=58000,mean=6KiB,ranks=16,sigma=0.5,distribution="} + distribution;
    const Totals totals = totals_of(synthetic_schedule(text).value());
    EXPECT_NEAR(static_cast<double>(totals.bytes) / 58000, 6144, 100) << distribution;
  }
}

TEST(Synthetic, is_the_same_for_the_same_text_and_another_for_another_seed) {
  const auto bytes = [](const char* text) { return totals_of(synthetic_schedule(text).value()).bytes; };
  EXPECT_EQ(bytes("distribution=exponential,seed=5"), bytes("distribution=exponential,seed=5"));
  EXPECT_NE(bytes("distribution=exponential,seed=5"), bytes("distribution=exponential,seed=6"));
}

TEST(Synthetic, sends_to_each_neighbour_of_a_periodic_grid_once) {
  EXPECT_EQ(totals_of(synthetic_schedule("pattern=halo,ranks=27").value()).messages, 27 * 26);
  EXPECT_EQ(totals_of(synthetic_schedule("pattern=halo,ranks=64").value()).messages, 64 * 26);
  EXPECT_EQ(totals_of(synthetic_schedule("pattern=halo,ranks=2").value()).messages, 2);
}

TEST(Synthetic, computes_before_the_exchange_and_while_it_is_under_way) {
  Schedule schedule = synthetic_schedule("pattern=nearest,ranks=2,compute=2ms,overlap=500us,steps=2").value();
  const auto& operations = schedule.ranks[0].streams[0].operations;
  ASSERT_EQ(operations.size(), 10);
  const std::vector<Action> step{Action::compute, Action::receive, Action::send, Action::compute, Action::wait};
  for (std::size_t i = 0; i < operations.size(); ++i) {
    EXPECT_EQ(operations[i].action, step[i % 5]) << i;
  }
  EXPECT_EQ(operations[0].took, std::chrono::milliseconds{2});
  EXPECT_EQ(operations[3].took, std::chrono::microseconds{500});
  EXPECT_EQ(schedule.length, std::chrono::milliseconds{5});
}

TEST(Synthetic, says_what_is_possible_instead) {
  EXPECT_NE(trouble_of("pattern=star").find("halo, nearest, all-to-all, multicast, random, few-large"),
            std::string::npos);
  EXPECT_NE(trouble_of("size=4").find("'size' is not a key of an exchange; the keys are pattern, ranks, pairs"),
            std::string::npos);
  EXPECT_NE(trouble_of("mean=6 apples").find("a size such as 800, 6KiB"), std::string::npos);
  EXPECT_NE(trouble_of("compute=6").find("a time such as 800us"), std::string::npos);
  EXPECT_NE(trouble_of("ranks=1").find("from 2"), std::string::npos);
  EXPECT_NE(trouble_of("ranks=4,ranks=5").find("given twice"), std::string::npos);
  EXPECT_NE(trouble_of("halo").find("key=value"), std::string::npos);
  EXPECT_NE(trouble_of("pattern=all-to-all,ranks=1000000").find("at most"), std::string::npos);
}

TEST(Synthetic, reads_sizes_and_times) {
  EXPECT_EQ(detail::parse_bytes("6KiB"), 6144);
  EXPECT_EQ(detail::parse_bytes("1.5 MB"), 1'500'000);
  EXPECT_EQ(detail::parse_bytes("-1"), std::nullopt);
  EXPECT_EQ(detail::parse_bytes("1e30GiB"), std::nullopt);
  EXPECT_EQ(detail::parse_bytes("nan"), std::nullopt);
  EXPECT_EQ(detail::parse_time("2.5ms"), std::chrono::microseconds{2500});
  EXPECT_EQ(detail::parse_time("0"), nanoseconds{});
  EXPECT_EQ(detail::parse_time("3 days"), std::nullopt);
}

/// Whatever is thrown at it, it is an exchange whose messages match, or an error with a sentence.
TEST(Synthetic, survives_descriptions_put_together_by_chance) {
  const std::vector<std::string> pieces{"pattern", "=",    ",",     "halo",  "ranks", "2",   "7",       "pairs",
                                        "30",      "mean", "6KiB",  "steps", "3",     "1e9", "-",       "seed",
                                        "random",  " ",    "sigma", "0.5",   "\0x",   "ms",  "compute", "\xff"};
  Random random{42};
  int good = 0;
  for (int i = 0; i < 4000; ++i) {
    std::string text = random.happens(0.7) ? "pairs=9" : "";
    for (std::uint64_t n = random.below(12); n > 0; --n) {
      if (random.happens(0.4)) {  // a likely pair
        text += (text.empty() ? "" : ",") + pieces[std::vector<int>{4, 9, 11, 15}[random.below(4)]] + "=" +
                pieces[std::vector<int>{5, 6, 8, 12}[random.below(4)]];
      } else if (random.happens(0.1)) {
        text += pieces[random.below(pieces.size())];
      }
    }
    auto schedule = synthetic_schedule(text);
    if (schedule) {
      ++good;
      EXPECT_TRUE(unmatched(schedule.value()).empty()) << text;
    } else {
      EXPECT_FALSE(std::string{schedule.error().what()}.empty()) << text;
    }
  }
  EXPECT_GT(good, 300);
}

}  // namespace
}  // namespace plait::replay::synthetic_test
