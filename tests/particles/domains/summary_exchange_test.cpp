// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/domains/summary_exchange.hpp"

#include <algorithm>
#include <array>
#include <bitset>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"

#include "comm/collectives/many_ranks.hpp"

namespace plait::particles::summary_exchange_test {
namespace {

using comm::test::ManyRanks;
using Ranks = std::bitset<512>;

/// The ranks of a block, and what the test adds.
struct Row {
  Ranks ranks;
  std::array<double, 3> low{};
  std::array<double, 3> high{};
  std::uint64_t value = 0;  ///< Is summed.
};

Row row_of(SummaryRow bytes, std::size_t i = 0) {
  Row row;
  std::memcpy(&row, bytes.data() + i * sizeof row, sizeof row);
  return row;
}

/// Joins rows; derived rules decide what is near.
class TestRules : public SummaryRules {
 public:
  [[nodiscard]] std::size_t row_bytes() const noexcept override { return sizeof(Row); }
  void join(SummaryRow parts, std::span<std::byte> block) const override {
    Row whole = row_of(parts);
    for (std::size_t i = 1; i < parts.size() / sizeof(Row); ++i) {
      const Row part = row_of(parts, i);
      whole.ranks |= part.ranks;
      whole.value += part.value;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        whole.low[axis] = std::min(whole.low[axis], part.low[axis]);
        whole.high[axis] = std::max(whole.high[axis], part.high[axis]);
      }
    }
    std::memcpy(block.data(), &whole, sizeof whole);
  }
  void find_near(SummaryRow one, SummaryRow others, std::span<std::uint8_t> are_near) const override {
    for (std::size_t i = 0; i < are_near.size(); ++i) {
      are_near[i] = is_near(row_of(one), row_of(others, i)) ? 1 : 0;
    }
  }
  [[nodiscard]] bool suffices(SummaryRow sender, SummaryRow receiver) const override {
    return is_enough(row_of(sender), row_of(receiver));
  }

  [[nodiscard]] virtual bool is_near(const Row& a, const Row& b) const = 0;
  [[nodiscard]] virtual bool is_enough(const Row& sender, const Row& receiver) const = 0;
};

/// Any decisions, as long as they are symmetric.
class AnyRules final : public TestRules {
 public:
  explicit AnyRules(std::size_t seed) : seed_{seed} {}
  [[nodiscard]] bool is_near(const Row& a, const Row& b) const override {
    return (std::hash<Ranks>{}(a.ranks ^ b.ranks) ^ seed_) * 0x9e3779b97f4a7c15 >> 60 < 9;
  }
  [[nodiscard]] bool is_enough(const Row& sender, const Row& receiver) const override {
    return (std::hash<Ranks>{}(sender.ranks | receiver.ranks) ^ seed_) * 0x9e3779b97f4a7c15 >> 63 != 0;
  }

 private:
  std::size_t seed_;
};

double distance(const Row& a, const Row& b) {
  double sum = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double gap = std::max({a.low[axis] - b.high[axis], b.low[axis] - a.high[axis], 0.0});
    sum += gap * gap;
  }
  return std::sqrt(sum);
}
double edge(const Row& a) {
  return a.high[0] - a.low[0];
}

/// Near are those at less than twice the larger edge.
class NearRules final : public TestRules {
 public:
  [[nodiscard]] bool is_near(const Row& a, const Row& b) const override {
    return distance(a, b) <= 2 * std::max(edge(a), edge(b));
  }
  [[nodiscard]] bool is_enough(const Row& sender, const Row& receiver) const override {
    return distance(sender, receiver) > 2 * edge(sender);
  }
};

/// Exchanges on all ranks, in one thread. Each domain is a unit cube of the grid.
struct Exchanges {
  Exchanges(const DomainGrid& grid, const SummaryExchange::Options& options, std::uint64_t seed = 0)
      : ranks{static_cast<std::uint32_t>(grid.ranks()), seed}, rows(grid.ranks()) {
    for (std::uint32_t rank = 0; rank < grid.ranks(); ++rank) {
      all.push_back(std::make_unique<SummaryExchange>(ranks[rank], comm::CommId{5}, grid, options));
      const auto parts = grid.parts_of(Rank{rank});
      rows[rank].ranks.set(rank);
      rows[rank].value = rank;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        rows[rank].low[axis] = parts[axis];
        rows[rank].high[axis] = parts[axis] + 1.0;
      }
    }
  }
  void run(const SummaryRules& rules, SummaryExchange::Choice choice = SummaryExchange::Choice::made) {
    std::vector<comm::Request> requests;
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      requests.push_back(all[rank]->exchange(std::as_bytes(std::span{&rows[rank], 1}), rules, choice));
      ranks.stagger();
    }
    ranks.settle(requests);
    for (const comm::Request& request : requests) {
      (void)request.status();
    }
  }
  /// Each other rank is near, or in one far row.
  void expect_complete() const {
    for (std::uint32_t rank = 0; rank < all.size(); ++rank) {
      const SummaryExchange& one = *all[rank];
      Ranks seen;
      std::size_t count = 0;
      seen.set(rank);
      for (std::size_t i = 0; i < one.near_ranks().size(); ++i) {
        const Rank near = one.near_ranks()[i];
        EXPECT_EQ(row_of(one.near_row(i)).ranks, Ranks{}.set(near.value()));
        EXPECT_EQ(row_of(one.near_row(i)).value, rows[near.value()].value);
        EXPECT_TRUE(std::ranges::find(all[near.value()]->near_ranks(), Rank{rank}) !=
                    all[near.value()]->near_ranks().end());
        seen.set(near.value());
        ++count;
      }
      for (std::size_t i = 0; i < one.far_count(); ++i) {
        const Row far = row_of(one.far_row(i));
        seen |= far.ranks;
        count += far.ranks.count();
        std::uint64_t value = 0;
        for (std::size_t member = 0; member < all.size(); ++member) {
          value += far.ranks[member] ? rows[member].value : 0;
        }
        EXPECT_EQ(far.value, value);
      }
      EXPECT_EQ(seen.count(), all.size());
      EXPECT_EQ(count + 1, all.size()) << "each rank once";
    }
  }

  ManyRanks ranks;
  std::vector<std::unique_ptr<SummaryExchange>> all;
  std::vector<Row> rows;
};

const std::vector<DomainGrid> grids{
    {1, 1, 1}, {2, 1, 1}, {3, 1, 1}, {7, 1, 1}, {4, 4, 4}, {5, 3, 3}, {33, 2, 1}, {7, 5, 3}, {9, 7, 5}};

TEST(SummaryExchange, gives_each_rank_all_others_once_whatever_is_near) {
  for (const DomainGrid& grid : grids) {
    for (const std::uint32_t top : {1U, 4U, 32U}) {
      for (const std::size_t seed : {0U, 1U, 2U}) {  // of decisions, and of networks that delay and refuse
        Exchanges exchanges{grid, {.top_blocks_max = top}, seed};
        exchanges.run(AnyRules{seed});
        exchanges.expect_complete();
        exchanges.run(AnyRules{seed + 10});
        exchanges.expect_complete();
      }
    }
  }
}

TEST(SummaryExchange, keeps_its_choice_for_new_summaries) {
  Exchanges exchanges{{7, 5, 3}, {.top_blocks_max = 4}};
  exchanges.run(NearRules{});
  std::vector<std::vector<Rank>> near;
  for (const auto& one : exchanges.all) {
    near.emplace_back(one->near_ranks().begin(), one->near_ranks().end());
  }
  for (Row& row : exchanges.rows) {
    row.value = 1000 * row.value + 7;
  }
  exchanges.run(AnyRules{1}, SummaryExchange::Choice::kept);
  exchanges.expect_complete();
  for (std::size_t rank = 0; rank < near.size(); ++rank) {
    EXPECT_TRUE(std::ranges::equal(near[rank], exchanges.all[rank]->near_ranks()));
  }
}

TEST(SummaryExchange, far_ranks_are_those_whose_summary_suffices) {
  Exchanges exchanges{{8, 8, 8}, {.top_blocks_max = 32}};
  const NearRules rules;
  exchanges.run(rules);
  exchanges.expect_complete();
  for (std::size_t rank = 0; rank < exchanges.all.size(); ++rank) {
    const SummaryExchange& one = *exchanges.all[rank];
    for (std::size_t i = 0; i < one.far_count(); ++i) {
      EXPECT_TRUE(rules.is_enough(row_of(one.far_row(i)), exchanges.rows[rank]));
    }
    for (std::size_t other = 0; other < exchanges.rows.size(); ++other) {
      const auto near = one.near_ranks();
      const bool is_listed = std::ranges::find(near, Rank{static_cast<std::uint32_t>(other)}) != near.end();
      EXPECT_EQ(is_listed, other != rank && rules.is_near(exchanges.rows[rank], exchanges.rows[other]));
    }
  }
}

TEST(SummaryExchange, gives_no_far_rows_if_none_are_wanted) {
  Exchanges exchanges{{8, 8, 4}, {.top_blocks_max = 32, .keeps_far = false}};
  exchanges.run(NearRules{});
  for (const auto& one : exchanges.all) {
    EXPECT_EQ(one->far_count(), 0);
    EXPECT_GE(one->near_ranks().size(), 26);
  }
}

/// In a line of ranks, where each has four near ones.
TEST(SummaryExchange, costs_each_rank_no_more_among_many_ranks_than_among_few) {
  const auto largest = [](std::uint32_t ranks) {
    Exchanges exchanges{{ranks, 1, 1}, {.top_blocks_max = 8, .keeps_far = false}};
    exchanges.run(NearRules{});
    SummaryCounts most;
    for (const auto& one : exchanges.all) {
      most.messages = std::max(most.messages, one->counts().messages);
      most.tests = std::max(most.tests, one->counts().tests);
      most.rows = std::max(most.rows, one->counts().rows);
    }
    return most;
  };
  const SummaryCounts few = largest(64);
  const SummaryCounts many = largest(512);
  EXPECT_LE(many.messages, few.messages + 4);
  EXPECT_LE(many.tests, few.tests + 8);
  EXPECT_LE(many.rows, few.rows + 16);
  EXPECT_LT(many.tests, 512);
}

TEST(SummaryExchange, refuses_summaries_of_another_size) {
  Exchanges exchanges{{2, 1, 1}, {.top_blocks_max = 1}};
  const NearRules rules;
  const Bytes wrong(8);
  std::vector<comm::Request> requests;
  requests.push_back(exchanges.all[0]->exchange(
      std::as_bytes(std::span{exchanges.rows}.first(1)), rules, SummaryExchange::Choice::made));
  requests.push_back(
      exchanges.ranks[1].send({Rank{0}, Tag{SummaryExchange::first_tag}, comm::CommId{5}}, std::span{wrong}));
  exchanges.ranks.settle(requests);
  EXPECT_EQ(comm::test::code_of(requests[0]), ErrorCode::network);
}

}  // namespace
}  // namespace plait::particles::summary_exchange_test
