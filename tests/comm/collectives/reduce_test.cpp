// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/collectives/reduce.hpp"

#include <cmath>

#include "comm/collectives/many_ranks.hpp"

namespace plait::comm::reduce_test {
namespace {

using test::code_of;
using test::ManyRanks;

class Reduce : public testing::TestWithParam<ReduceWay> {};

using Row = std::vector<std::int64_t>;

std::vector<Row> random_rows(ManyRanks& ranks) {
  const std::size_t elements = ranks.some_size() / 8;
  std::vector<Row> rows(ranks.size(), Row(elements));
  for (Row& row : rows) {
    std::ranges::generate(row, [&] { return static_cast<std::int64_t>(ranks.below(1'000'000)) - 500'000; });
  }
  return rows;
}

template <class Operation>
Row combined(const std::vector<Row>& rows, Operation operation) {
  Row result = rows[0];
  for (std::size_t rank = 1; rank < rows.size(); ++rank) {
    for (std::size_t i = 0; i < result.size(); ++i) {
      result[i] = operation(result[i], rows[rank][i]);
    }
  }
  return result;
}

ReduceOptions options(ReduceWay way) {
  return {.reduction = elementwise<std::int64_t>(Sum{}), .way = way};
}

TEST_P(Reduce, leaves_the_sum_of_all_on_the_root) {
  test::for_many_ranks(8, [](ManyRanks& ranks) {
    const std::vector<Group> groups = ranks.groups();
    const std::vector<Row> rows = random_rows(ranks);
    const std::size_t root = ranks.below(ranks.size());
    Row result(rows[0].size());
    std::vector<Request> requests;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      ranks.stagger();
      const std::span<std::byte> place =
          rank == root ? std::as_writable_bytes(std::span{result}) : std::span<std::byte>{};
      requests.push_back(reduce(groups[rank], root, std::as_bytes(std::span{rows[rank]}), place, options(GetParam())));
    }
    ranks.settle(requests);
    for (const Request& request : requests) {
      ASSERT_EQ(code_of(request), std::nullopt);
    }
    ASSERT_EQ(result, combined(rows, Sum{}));
  });
}

TEST_P(Reduce, leaves_the_sum_of_all_on_all) {
  test::for_many_ranks(8, [](ManyRanks& ranks) {
    const std::vector<Group> groups = ranks.groups();
    std::vector<Row> rows = random_rows(ranks);
    const Row expected = combined(rows, Sum{});
    std::vector<Request> requests;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      ranks.stagger();
      requests.push_back(all_reduce(groups[rank], std::span{rows[rank]}, Sum{}, GetParam()));
    }
    ranks.settle(requests);
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      ASSERT_EQ(code_of(requests[rank]), std::nullopt);
      ASSERT_EQ(rows[rank], expected);
    }
  });
}

/// All ranks' sums of numbers whose sum depends on the order, on one network.
std::vector<std::vector<double>> rounded_sums(ReduceWay way, std::uint32_t size, std::uint64_t seed) {
  ManyRanks ranks{size, seed};
  std::vector<std::uint32_t> nodes(size);
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    nodes[rank] = rank * 5 % 3;
  }
  ranks.set_nodes(nodes);
  const std::vector<Group> groups = ranks.groups();
  std::vector<std::vector<double>> rows(size, std::vector<double>(37));
  for (std::size_t rank = 0; rank < size; ++rank) {
    for (std::size_t i = 0; i < rows[rank].size(); ++i) {
      rows[rank][i] = std::pow(10.0, static_cast<double>((rank * 7 + i) % 16)) / 3;
    }
  }
  std::vector<Request> requests;
  for (std::size_t rank = 0; rank < size; ++rank) {
    ranks.stagger();
    requests.push_back(all_reduce(groups[rank], std::span{rows[rank]}, Sum{}, way));
  }
  ranks.settle(requests);
  return rows;
}

TEST_P(Reduce, rounds_alike_on_every_rank_and_in_every_run) {
  for (const std::uint32_t size : {3U, 7U, 8U, 16U}) {
    const std::vector<double> first = rounded_sums(GetParam(), size, 0)[0];
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      for (const std::vector<double>& sums : rounded_sums(GetParam(), size, seed)) {
        ASSERT_EQ(sums, first);
      }
    }
  }
}

TEST_P(Reduce, ends_with_an_error_where_another_size_is_meant) {
  for (const std::size_t wrong : {0U, 10U, 3000U}) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      ManyRanks ranks{6, seed};
      const std::vector<Group> groups = ranks.groups();
      std::vector<Row> rows(6, Row(1000));
      rows[4].resize(wrong);
      std::vector<Request> requests;
      for (std::size_t rank = 0; rank < 6; ++rank) {
        requests.push_back(all_reduce(groups[rank], std::span{rows[rank]}, Sum{}, GetParam()));
      }
      ranks.settle(requests);
      EXPECT_NE(code_of(requests[4]), std::nullopt);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, Reduce, testing::Values(ReduceWay::tree, ReduceWay::halving, ReduceWay::by_node));

TEST(ReduceOperations, take_the_least_the_greatest_and_what_the_program_gives) {
  ManyRanks ranks{3, 0};
  const std::vector<Group> groups = ranks.groups();
  std::vector<int> least{3, 1, 2};
  std::vector<int> greatest{3, 1, 2};
  std::vector<int> own{3, 1, 2};
  int on_root = 0;
  std::vector<Request> requests;
  for (std::size_t rank = 0; rank < 3; ++rank) {
    const std::span<const int> mine{&own[rank], 1};
    requests.push_back(all_reduce(groups[rank], std::span{&least[rank], 1}, Minimum{}));
    requests.push_back(all_reduce(groups[rank], std::span{&greatest[rank], 1}, Maximum{}));
    requests.push_back(reduce(groups[rank], 1, mine, std::span{&on_root, 1}, [](int a, int b) { return a * b; }));
  }
  ranks.settle(requests);
  EXPECT_EQ(least, std::vector(3, 1));
  EXPECT_EQ(greatest, std::vector(3, 3));
  EXPECT_EQ(on_root, 6);
}

TEST(ReduceArguments, are_whole_elements_and_a_member_as_root) {
  ManyRanks ranks{2, 0};
  const Group group{ranks[0], world};
  Bytes row(12);
  EXPECT_THROW((void)all_reduce(group, row, options(ReduceWay::tree)), Error);
  EXPECT_THROW((void)all_reduce(group, row, ReduceOptions{}), Error);
  int value = 0;
  EXPECT_THROW((void)reduce(group, 2, std::span<const int>{&value, 1}, std::span{&value, 1}), Error);
  EXPECT_THROW((void)reduce(group, 0, std::span<const int>{&value, 1}, std::span<int>{}), Error);
}

TEST(ReduceChoice, shares_out_long_rows) {
  EXPECT_EQ(choose_reduce(8, 8), ReduceWay::tree);
  EXPECT_EQ(choose_reduce(2, 100'000), ReduceWay::tree);
  EXPECT_EQ(choose_reduce(4, 100'000), ReduceWay::halving);
}

}  // namespace
}  // namespace plait::comm::reduce_test
