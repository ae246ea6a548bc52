// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/neighbours/cells.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "plait/base/error.hpp"
#include "plait/particles/store/checks.hpp"

namespace plait::particles {
namespace {

/// A particle during the division: contiguous data for comparisons.
struct Item {
  std::array<double, 3> position;
  Particles::Index index;
};

/// Divides items into cells, groups and leaves, and records the sizes.
class Divider {
 public:
  Divider(const CellOptions& options, CellSizes& sizes) : options_{options}, sizes_{sizes} {}

  enum class Within : std::uint8_t { none, cell, group, leaf };

  void divide(std::span<Item> items, Within within) {
    const auto count = static_cast<std::uint32_t>(items.size());
    if (within == Within::none && count <= options_.cell_particles_max) {
      sizes_.cells.push_back(0);
      within = Within::cell;
    }
    if (within == Within::cell && count <= options_.group_particles_max) {
      ++sizes_.cells.back();
      sizes_.groups.push_back(0);
      within = Within::group;
    }
    if (within == Within::group && count <= options_.leaf_particles_max) {
      ++sizes_.groups.back();
      sizes_.leaves.push_back(static_cast<std::uint16_t>(count));
      within = Within::leaf;
    }
    if (within == Within::leaf && (options_.ordered_particles_max == 0 || count <= options_.ordered_particles_max)) {
      return;
    }
    const std::size_t half = half_of(count);
    const std::size_t axis = longest_axis(items);
    std::ranges::nth_element(items, items.begin() + static_cast<std::ptrdiff_t>(half), {}, [axis](const Item& item) {
      return std::pair{item.position[axis], item.index};  // unique: the result does not depend on the library
    });
    divide(items.first(half), within);
    divide(items.subspan(half), within);
  }

 private:
  /// Near the middle, at a multiple of a full leaf.
  [[nodiscard]] std::size_t half_of(std::uint32_t count) const {
    const std::uint32_t leaf = options_.leaf_particles_max;
    return count <= leaf ? count / 2 : std::size_t{(count / 2 + leaf - 1) / leaf} * leaf;
  }
  [[nodiscard]] static std::size_t longest_axis(std::span<const Item> items) {
    std::array<double, 3> low = items.front().position;
    std::array<double, 3> high = low;
    for (const Item& item : items) {
      for (std::size_t axis = 0; axis < 3; ++axis) {
        low[axis] = std::min(low[axis], item.position[axis]);
        high[axis] = std::max(high[axis], item.position[axis]);
      }
    }
    std::size_t longest = 0;
    for (std::size_t axis = 1; axis < 3; ++axis) {
      longest = high[axis] - low[axis] > high[longest] - low[longest] ? axis : longest;
    }
    return longest;
  }

  const CellOptions& options_;
  CellSizes& sizes_;
};

void take_in(Extent& whole, const Extent& part) {
  whole.box.include(part.box);
  whole.reach = std::max(whole.reach, part.reach);
}

void begin(Extent& extent) {
  extent.box = {};
  extent.reach = 0;
}

/// A binary tree of extents of consecutive cells, to skip far cells together.
class Pyramid {
 public:
  explicit Pyramid(std::span<const Cell> cells) {
    levels_.emplace_back(cells.begin(), cells.end());
    while (levels_.back().size() > 1) {
      const std::vector<Extent>& below = levels_.back();
      std::vector<Extent> above((below.size() + 1) / 2);
      for (std::size_t i = 0; i < below.size(); ++i) {
        take_in(above[i / 2], below[i]);
      }
      levels_.push_back(std::move(above));
    }
  }

  /// Calls `use` with the place of each cell that `is_near`, in order.
  template <class IsNear, class Use>
  void for_each(IsNear is_near, Use use) const {
    descend(levels_.size() - 1, 0, is_near, use);
  }

 private:
  template <class IsNear, class Use>
  void descend(std::size_t level, std::size_t place, IsNear is_near, Use use) const {
    if (place >= levels_[level].size() || !is_near(levels_[level][place])) {
      return;
    }
    if (level == 0) {
      use(static_cast<std::uint32_t>(place));
      return;
    }
    descend(level - 1, 2 * place, is_near, use);
    descend(level - 1, 2 * place + 1, is_near, use);
  }

  std::vector<std::vector<Extent>> levels_;
};

}  // namespace

CellSizes divide_into_cells(const Particles& store, const CellOptions& options, std::vector<Particles::Index>& order) {
  expect(options.leaf_particles_max > 0 && options.leaf_particles_max <= options.group_particles_max &&
             options.group_particles_max <= options.cell_particles_max && options.cell_particles_max < 65536,
         "leaves make groups, groups make cells");
  const std::span<const Vector> positions = store.positions();
  std::vector<Item> items(positions.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Vector& p = positions[i];
    check_position(p, store.ids()[i]);
    items[i] = {{p.x, p.y, p.z}, static_cast<Particles::Index>(i)};
  }
  CellSizes sizes;
  if (!items.empty()) {
    Divider{options, sizes}.divide(items, Divider::Within::none);
  }
  order.resize(items.size());
  std::ranges::transform(items, order.begin(), &Item::index);
  return sizes;
}

void CellTable::append(const CellSizes& sizes, std::uint32_t first_particle) {
  std::size_t group = 0;
  std::size_t leaf = 0;
  std::uint32_t particle = first_particle;
  for (const std::uint16_t group_count : sizes.cells) {
    Cell cell;
    cell.first = particle;
    cell.first_group = static_cast<std::uint32_t>(groups_.size());
    cell.group_count = group_count;
    for (std::uint32_t i = 0; i < group_count; ++i) {
      CellGroup made;
      made.first = particle;
      made.first_leaf = static_cast<std::uint32_t>(leaves_.size());
      made.leaf_count = sizes.groups.at(group++);
      for (std::uint32_t j = 0; j < made.leaf_count; ++j) {
        Leaf& small = leaves_.emplace_back();
        small.first = particle;
        small.count = sizes.leaves.at(leaf++);
        particle += small.count;
      }
      made.count = particle - made.first;
      groups_.push_back(made);
    }
    cell.count = particle - cell.first;
    cells_.push_back(cell);
  }
}

void CellTable::assign(const CellSizes& sizes) {
  cells_.clear();
  groups_.clear();
  leaves_.clear();
  ghost_particles_ = 0;
  append(sizes, 0);
  own_count_ = count();
  expect(cells_.empty() ? own_->is_empty() : cells_.back().first + cells_.back().count == own_->size(),
         "each particle has its cell");
  first_neighbour_.assign(own_count_ + 1, 0);
  neighbours_.clear();
  first_near_ghost_.assign(1, 0);
  near_ghosts_.clear();
}

CellSizes CellTable::own_sizes() const {
  CellSizes sizes;
  for (const Cell& cell : std::span{cells_}.first(own_count_)) {
    sizes.cells.push_back(static_cast<std::uint16_t>(cell.group_count));
    for (const CellGroup& group : groups_of(cell)) {
      sizes.groups.push_back(static_cast<std::uint16_t>(group.leaf_count));
      for (const Leaf& leaf : leaves_of(group)) {
        sizes.leaves.push_back(static_cast<std::uint16_t>(leaf.count));
      }
    }
  }
  return sizes;
}

void CellTable::add_ghosts(const CellSizes& sizes) {
  append(sizes, ghost_particles_);
  if (count() > own_count_) {
    ghost_particles_ = cells_.back().first + cells_.back().count;
  }
}

void CellTable::refresh(std::uint32_t number, Field<float> reach_field, double reach_factor) {
  const Particles& store = store_of(number);
  const std::span<const Vector> positions = store.positions();
  const std::span<const float> reach = store[reach_field];
  Cell& cell = cells_[number];
  begin(cell);
  for (CellGroup& group : std::span{groups_}.subspan(cell.first_group, cell.group_count)) {
    begin(group);
    for (Leaf& leaf : std::span{leaves_}.subspan(group.first_leaf, group.leaf_count)) {
      begin(leaf);
      for (std::uint32_t i = leaf.first; i < leaf.first + leaf.count; ++i) {
        leaf.box.include(positions[i]);
        leaf.reach = std::max(leaf.reach, reach[i]);
      }
      leaf.reach = static_cast<float>(leaf.reach * reach_factor);
      take_in(group, leaf);
    }
    take_in(cell, group);
  }
}

void CellTable::find_neighbours(double growth, double skin) {
  const std::span<const Cell> cells{cells_};
  const Pyramid own{cells.first(own_count_)};
  const Pyramid ghosts{cells.subspan(own_count_)};
  std::vector<std::vector<std::uint32_t>> near_ghosts(count() - own_count_);
  neighbours_.clear();
  for (std::uint32_t cell = 0; cell < own_count_; ++cell) {
    first_neighbour_[cell] = static_cast<std::uint32_t>(neighbours_.size());
    const auto is_near = [&](const Extent& other) { return are_near(cells[cell], other, images_, growth, skin); };
    own.for_each(is_near, [&](std::uint32_t place) { neighbours_.push_back(place); });
    ghosts.for_each(is_near, [&](std::uint32_t place) {
      neighbours_.push_back(own_count_ + place);
      near_ghosts[place].push_back(cell);
    });
  }
  first_neighbour_[own_count_] = static_cast<std::uint32_t>(neighbours_.size());
  first_near_ghost_.assign(1, 0);
  near_ghosts_.clear();
  for (const std::vector<std::uint32_t>& near : near_ghosts) {
    near_ghosts_.insert(near_ghosts_.end(), near.begin(), near.end());
    first_near_ghost_.push_back(static_cast<std::uint32_t>(near_ghosts_.size()));
  }
}

double distance2_of_images(const Box& a, const Box& b, const Lattice& images) {
  if (images.slide.displacement == 0) {
    return distance2(a, b, images.period);
  }
  const Vector between = 0.5 * ((b.low + b.high) - (a.low + a.high));
  const Vector room = 0.5 * ((a.high - a.low) + (b.high - b.low));
  const auto square_of_gap = [](double distance, double its_room) {
    const double gap = std::max(0.0, std::abs(distance) - its_room);
    return gap * gap;
  };
  const auto nearest = [](double distance, double period) {
    return period > 0 ? distance - period * std::round(distance / period) : distance;
  };
  const double same_row = -std::round(between.x / images.period.x);
  double least = std::numeric_limits<double>::infinity();
  for (const double row : {same_row - 1, same_row, same_row + 1}) {
    const double y = nearest(between.y - row * images.slide.displacement, images.period.y);
    least = std::min(least, square_of_gap(between.x + row * images.period.x, room.x) + square_of_gap(y, room.y));
  }
  return least + square_of_gap(nearest(between.z, images.period.z), room.z);
}

bool are_near(const Extent& a, const Extent& b, const Lattice& images, double growth, double skin) {
  constexpr double rounding = 1 + 1e-9;  // cells that touch are near
  const double reach = (static_cast<double>(std::max(a.reach, b.reach)) * growth + skin) * rounding;
  return distance2_of_images(a.box, b.box, images) <= reach * reach;
}

}  // namespace plait::particles
