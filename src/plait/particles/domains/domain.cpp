// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/domains/domain.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait::particles {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

bool ascend(std::span<const double> cuts) {
  return std::ranges::is_sorted(cuts) && std::ranges::none_of(cuts, [](double cut) { return std::isnan(cut); });
}

/// The index of the first boundary of a slab's columns, and of a column's domains, in the result of `all_cuts`.
std::size_t columns_begin(const DomainGrid& grid, std::size_t slab) {
  return grid.x - 1 + slab * (grid.y - 1);
}
std::size_t domains_begin(const DomainGrid& grid, std::size_t slab, std::size_t column) {
  return columns_begin(grid, grid.x) + (slab * grid.y + column) * (grid.z - 1);
}

}  // namespace

std::array<std::uint32_t, 3> DomainGrid::parts_of(Rank rank) const {
  expect(rank.value() < ranks(), "a rank of the grid");
  const std::uint32_t column = rank.value() / z;
  return {column / y, column % y, rank.value() % z};
}

Rank DomainGrid::rank_of(const std::array<std::uint32_t, 3>& parts) const {
  return Rank{(parts[0] * y + parts[1]) * z + parts[2]};
}

DomainGrid cubic_grid(std::uint32_t ranks) {
  expect(ranks > 0, "a grid has a rank");
  DomainGrid best{ranks, 1, 1};
  for (std::uint32_t z = 1; std::uint64_t{z} * z * z <= ranks; ++z) {
    if (ranks % z != 0) {
      continue;
    }
    const std::uint32_t rest = ranks / z;
    for (std::uint32_t y = z; std::uint64_t{y} * y <= rest; ++y) {
      // The longest side determines the number of partners.
      if (rest % y == 0 && std::pair{rest / y, y} < std::pair{best.x, best.y}) {
        best = {rest / y, y, z};
      }
    }
  }
  return best;
}

DomainGrid square_grid(std::uint32_t ranks) {
  expect(ranks > 0, "a grid has a rank");
  std::uint32_t y = 1;
  for (std::uint32_t side = 1; std::uint64_t{side} * side <= ranks; ++side) {
    y = ranks % side == 0 ? side : y;
  }
  return {ranks / y, y, 1};
}

DomainGrid make_grid(std::uint32_t ranks, std::uint32_t y, std::uint32_t z) {
  const std::uint64_t slab = std::uint64_t{y} * z;
  if (ranks == 0 || slab == 0 || ranks % slab != 0) {
    throw Error{
        ErrorCode::bad_argument,
        fmt::format("{} ranks cannot be divided into slabs of {} columns of {} domains: choose divisors", ranks, y, z)};
  }
  return {static_cast<std::uint32_t>(ranks / slab), y, z};
}

Domain::Domain(const DomainGrid& grid, Rank self) : grid_{grid}, self_{self} {
  if (self.value() >= grid.ranks()) {
    throw Error{
        ErrorCode::bad_argument,
        fmt::format("a grid of {} x {} x {} domains has none for rank {}", grid.x, grid.y, grid.z, self.value())};
  }
  parts_ = grid.parts_of(self);
  set_cuts({std::vector<double>(grid.x - 1, infinity),
            std::vector<double>(grid.y - 1, infinity),
            std::vector<double>(grid.z - 1, infinity)});
  is_cut_ = grid.ranks() == 1;
}

Domain::Domain(const DomainGrid& grid, Rank self, std::span<const double> all_cuts) : Domain{grid, self} {
  const auto part = [all_cuts](std::size_t begin, std::size_t count) {
    return begin + count <= all_cuts.size() ? all_cuts.subspan(begin, count) : std::span<const double>{};
  };
  const std::span<const double> slabs = part(0, grid.x - 1);
  const std::span<const double> columns = part(columns_begin(grid, parts_[0]), grid.y - 1);
  const std::span<const double> domains = part(domains_begin(grid, parts_[0], parts_[1]), grid.z - 1);
  const std::size_t count = domains_begin(grid, grid.x, 0);
  if (all_cuts.size() != count || !ascend(slabs) || !ascend(columns) || !ascend(domains)) {
    throw Error{
        ErrorCode::bad_input,
        fmt::format("{} domain boundaries do not fit {} x {} x {} domains, which need {}, ascending along each axis",
                    all_cuts.size(),
                    grid.x,
                    grid.y,
                    grid.z,
                    count)};
  }
  set_cuts({std::vector(slabs.begin(), slabs.end()),
            std::vector(columns.begin(), columns.end()),
            std::vector(domains.begin(), domains.end())});
}

void Domain::set_cuts(std::array<std::vector<double>, 3> cuts) {
  const auto counts = grid_.counts();
  std::array<double, 3> low{};
  std::array<double, 3> high{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    expect(cuts[axis].size() + 1 == counts[axis] && ascend(cuts[axis]), "boundaries fit the grid and ascend");
    low[axis] = parts_[axis] > 0 ? cuts[axis][parts_[axis] - 1] : -infinity;
    high[axis] = parts_[axis] + 1 < counts[axis] ? cuts[axis][parts_[axis]] : infinity;
  }
  low_ = {low[0], low[1], low[2]};
  high_ = {high[0], high[1], high[2]};
  cuts_ = std::move(cuts);
  is_cut_ = true;
}

std::optional<Hop> Domain::far_hop(const Vector& place) const {
  for (std::uint8_t axis = 0; axis < 3; ++axis) {
    const auto part =
        static_cast<std::uint32_t>(std::ranges::upper_bound(cuts_[axis], place[axis]) - cuts_[axis].begin());
    if (part != parts_[axis]) {
      return Hop{axis, part};
    }
  }
  return {};
}

Rank Domain::rank_of(const Hop& hop) const {
  std::array<std::uint32_t, 3> parts = parts_;
  parts[hop.axis] = hop.part;
  return grid_.rank_of(parts);
}

std::vector<double> all_cuts(const DomainGrid& grid, std::span<const Box> boxes) {
  expect(boxes.size() == grid.ranks(), "a box for each rank");
  std::vector<double> cuts;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    for (std::uint32_t rank = 0; rank < boxes.size(); ++rank) {
      const std::array<std::uint32_t, 3> parts = grid.parts_of(Rank{rank});
      // The first rank of each slab or column has its boundary.
      const bool is_first =
          std::ranges::all_of(std::span{parts}.subspan(axis + 1), [](auto part) { return part == 0; });
      if (is_first && parts[axis] + 1 < grid.counts()[axis]) {
        cuts.push_back(boxes[rank].high[axis]);
      }
    }
  }
  return cuts;
}

}  // namespace plait::particles
