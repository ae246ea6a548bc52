// SPDX-License-Identifier: Apache-2.0
#include "plait/simulate/faults.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"

namespace plait::simulate::faults_test {
namespace {

using std::chrono::milliseconds;

constexpr std::uint32_t rank_count = 8;

FaultSettings settings_of(std::uint64_t seed, std::vector<FaultKind> kinds) {
  return {.seed = seed, .kinds = std::move(kinds), .run_length = milliseconds{10}, .disk = "runs/one"};
}

std::vector<FaultKind> all_kinds() {
  std::vector<FaultKind> kinds;
  for (const std::string_view name : fault_names) {
    kinds.push_back(fault_kind(name));
  }
  return kinds;
}

net::SimOptions network_of(const Faults& faults) {
  net::SimOptions options;
  faults.put_into(options);
  return options;
}

TEST(Faults, are_equal_for_equal_seeds) {
  std::set<std::vector<std::string>> drawn;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Faults one{settings_of(seed, all_kinds()), rank_count, 0};
    const Faults other{settings_of(seed, all_kinds()), rank_count, 0};
    EXPECT_EQ(one.sentences(), other.sentences());
    EXPECT_FALSE(one.sentences().empty());
    drawn.insert(one.sentences());
  }
  EXPECT_EQ(drawn.size(), 20U);
}

TEST(Faults, of_a_kind_do_not_depend_on_the_other_kinds) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Faults alone{settings_of(seed, {FaultKind::dead_rank}), rank_count, 0};
    const Faults among{settings_of(seed, all_kinds()), rank_count, 0};
    ASSERT_EQ(alone.sentences().size(), 1U);
    if (!network_of(among).failures.empty()) {
      EXPECT_NE(std::ranges::find(among.sentences(), alone.sentences().front()), among.sentences().end());
    }
  }
}

TEST(Faults, begin_while_the_run_lasts_and_at_ranks_that_exist) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Faults faults{settings_of(seed, all_kinds()), rank_count, 0};
    const net::SimOptions options = network_of(faults);
    EXPECT_NO_THROW((net::SimNetwork{rank_count, options}));
    for (const net::SimFailure& failure : options.failures) {
      EXPECT_LT(failure.rank.value(), rank_count);
      EXPECT_LT(failure.at, milliseconds{10});
    }
    for (const SlowRank& slow : faults.slow_ranks()) {
      EXPECT_LT(slow.rank.value(), rank_count);
      EXPECT_LT(slow.since, milliseconds{10});
    }
    if (faults.full_disk()) {
      EXPECT_EQ(faults.full_disk()->folder, "runs/one");
    }
  }
}

TEST(Faults, of_one_kind_always_happen) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_EQ(network_of(Faults{settings_of(seed, {FaultKind::reorder}), rank_count, 0}).order, net::SimOrder::free);
    EXPECT_GT(network_of(Faults{settings_of(seed, {FaultKind::delays}), rank_count, 0}).delay_max, nanoseconds{0});
    EXPECT_GT(network_of(Faults{settings_of(seed, {FaultKind::full_queues}), rank_count, 0}).retry_probability, 0);
    EXPECT_EQ((Faults{settings_of(seed, {FaultKind::slow_rank}), rank_count, 0}.slow_ranks().size()), 1U);
    EXPECT_TRUE((Faults{settings_of(seed, {FaultKind::full_disk}), rank_count, 0}.full_disk()));
  }
}

TEST(Faults, take_links_of_the_platform_where_there_are_some) {
  bool is_above_ranks = false;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Faults faults{settings_of(seed, {FaultKind::half_link}), rank_count, 64};
    const net::SimOptions options = network_of(faults);
    ASSERT_EQ(options.slow_links.size(), 1U);
    EXPECT_LT(options.slow_links[0].link, 64U);
    EXPECT_EQ(faults.sentences().front().substr(0, 16), "half-link: link ");
    is_above_ranks |= options.slow_links[0].link >= rank_count;
  }
  EXPECT_TRUE(is_above_ranks);
}

TEST(Faults, need_kinds_and_a_length) {
  EXPECT_THROW((Faults{settings_of(1, {}), rank_count, 0}), Error);
  EXPECT_THROW((Faults{{.kinds = {FaultKind::delays}, .run_length = nanoseconds{0}, .disk = {}}, rank_count, 0}),
               Error);
  EXPECT_THROW(static_cast<void>(fault_kind("fire")), Error);
}

}  // namespace
}  // namespace plait::simulate::faults_test
