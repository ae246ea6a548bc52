// SPDX-License-Identifier: Apache-2.0
#include "plait/fft/detail/agreement.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plait/base/error.hpp"
#include "plait/comm/collectives/all_gather.hpp"
#include "plait/comm/request.hpp"

namespace plait::fft::detail {

namespace {

/// The names and values that must be equal.
std::vector<std::pair<std::string, std::string>> listed(const Wish& wish) {
  constexpr std::array efforts{"estimate", "measure", "patient"};
  const std::string_view variant{wish.variant.data(), wish.variant.size()};
  return {{"lengths", fmt::format("{}", fmt::join(wish.lengths, " x "))},
          {"kind", wish.kind == Kind::real ? "real" : "complex"},
          {"rank grid", fmt::format("{} x {}", wish.row, wish.column)},
          {"effort", efforts[static_cast<std::size_t>(wish.effort)]},
          {"pieces", fmt::format("{}", wish.pieces)},
          {"variant", fmt::format("'{}'", variant.substr(0, variant.find('\0')))}};
}

/// Whether every rank of the grid has a part of the array in physical and in spectral space.
bool fits(const std::array<Index, 3>& lengths, Kind kind, const TransformGrid& grid) {
  const Index last = kind == Kind::real ? lengths[2] / 2 + 1 : lengths[2];
  return lengths[0] >= grid.column && lengths[1] >= std::max(grid.column, grid.row) && last >= grid.row;
}

/// The number of ranks on each node, if all nodes have equally many consecutive ranks; else 1.
std::uint32_t ranks_on_each(const std::vector<std::uint32_t>& nodes) {
  std::size_t count = 0;
  while (count < nodes.size() && nodes[count] == nodes[0]) {
    ++count;
  }
  for (std::size_t rank = 0; rank < nodes.size(); ++rank) {
    if (nodes[rank] != nodes[rank - rank % count] || (rank >= count && nodes[rank] == nodes[rank - count])) {
      return 1;
    }
  }
  return nodes.size() % count == 0 ? static_cast<std::uint32_t>(count) : 1;
}

}  // namespace

std::vector<Wish> agree(const comm::Group& everyone, const Wish& mine) {
  std::vector<Wish> all(everyone.size());
  comm::all_gather(everyone, std::span{&mine, 1}, std::span{all}).wait();
  const auto first = listed(all[0]);
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    const auto other = listed(all[rank]);
    for (std::size_t i = 0; i < first.size(); ++i) {
      if (first[i] != other[i]) {
        throw Error{
            ErrorCode::bad_argument,
            fmt::format("ranks create different plans of a transform: {} {} on rank 0, {} on rank {}; all ranks "
                        "must create the same plans in the same order",
                        first[i].first,
                        first[i].second,
                        other[i].second,
                        rank)};
      }
    }
  }
  return all;
}

std::vector<std::uint32_t> nodes_of(const std::vector<Wish>& wishes) {
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> numbers;
  std::vector<std::uint32_t> nodes;
  for (const Wish& wish : wishes) {
    nodes.push_back(
        numbers.try_emplace({wish.names_node, wish.node}, static_cast<std::uint32_t>(numbers.size())).first->second);
  }
  return nodes;
}

TransformGrid choose_grid(const std::array<Index, 3>& lengths,
                          Kind kind,
                          const TransformGrid& wish,
                          const std::vector<std::uint32_t>& nodes) {
  const auto ranks = static_cast<std::uint32_t>(nodes.size());
  if (wish.row != 0 || wish.column != 0) {
    TransformGrid grid = wish;
    if (grid.row == 0 && ranks % grid.column == 0) {
      grid.row = ranks / grid.column;
    } else if (grid.column == 0 && ranks % grid.row == 0) {
      grid.column = ranks / grid.row;
    }
    if (std::uint64_t{grid.row} * grid.column != ranks) {
      throw Error{ErrorCode::bad_argument,
                  fmt::format("a rank grid of {} x {} has {} places, and there are {} ranks: row times column must be "
                              "the number of ranks",
                              wish.row,
                              wish.column,
                              std::uint64_t{wish.row} * wish.column,
                              ranks)};
    }
    return grid;
  }
  const bool is_one_node = std::ranges::all_of(nodes, [&](std::uint32_t node) { return node == nodes[0]; });
  const std::uint32_t wanted = is_one_node ? 1 : ranks_on_each(nodes);
  // The row length nearest to the preferred one that leaves no rank without a part.
  TransformGrid best{wanted, ranks / wanted};
  for (std::uint32_t row = 1, distance = std::numeric_limits<std::uint32_t>::max(); row <= ranks; ++row) {
    const TransformGrid grid{row, ranks / row};
    const std::uint32_t away = row > wanted ? row - wanted : wanted - row;
    if (ranks % row == 0 && away < distance && fits(lengths, kind, grid)) {
      best = grid;
      distance = away;
    }
  }
  return best;
}

void throw_if_no_array(const std::array<Index, 3>& lengths) {
  constexpr Index length_max = std::numeric_limits<int>::max() / 8;  // FFTW counts in int
  Index points = 1;
  for (const Index length : lengths) {
    if (length < 1 || length > length_max) {
      throw Error{
          ErrorCode::bad_argument,
          fmt::format("an array of {} points cannot be transformed: each length must be at least 1 and at most {}",
                      fmt::join(lengths, " x "),
                      length_max)};
    }
    if (points > std::numeric_limits<Index>::max() / 64 / length) {
      throw Error{ErrorCode::bad_argument,
                  fmt::format("an array of {} points has more elements than memory can address; reduce its lengths",
                              fmt::join(lengths, " x "))};
    }
    points *= length;
  }
}

}  // namespace plait::fft::detail
