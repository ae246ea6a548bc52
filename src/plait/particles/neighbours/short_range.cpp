// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/neighbours/short_range.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "plait/base/error.hpp"

namespace plait::particles {
namespace {

/// The shifts by whole periods along one axis that may bring an interval within a distance of another.
class Shifts {
 public:
  /// `between`: from the middle of the fixed interval to that of the moved one; `space`: half of both lengths, and the
  /// distance.
  Shifts(double between, double space, double period) : period_{period} {
    if (period <= 0) {
      return;
    }
    if (2 * space <= period) {
      first_ = 2 * std::abs(between) <= period ? 0.0 : -std::round(between / period);
      return;
    }
    // A small space, where several images may be near.
    first_ = std::ceil((-space - between) / period);
    count_ = static_cast<std::size_t>(std::max(0.0, std::floor((space - between) / period) - first_ + 1));
  }
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] double operator[](std::size_t i) const { return period_ * periods(i); }
  [[nodiscard]] double periods(std::size_t i) const { return first_ + static_cast<double>(i); }

 private:
  double period_;
  double first_ = 0;
  std::size_t count_ = 1;
};

}  // namespace

/// The targets of a block.
struct BlockMaker::Wanted {
  Box box;
  Vector centre;
  Vector half;  ///< Half of the edges of the box.
  double reach = 0;
};

void BlockMaker::add_leaf(const CellTable& table, std::uint32_t cell, const Leaf& leaf, const Wanted& wanted) {
  const Particles& store = table.store_of(cell);
  const std::span<const Vector> positions = store.positions().subspan(leaf.first, leaf.count);
  const std::span<const float> reaches = store[options_->reach];
  const std::span<const std::uint8_t> kinds = store[Particles::kind];
  const Particles::Index mark = table.is_ghost(cell) ? BlockParticles::ghost : 0;
  const auto factor = static_cast<float>(options_->reach_factor);
  // A margin for rounding to single precision.
  constexpr float rounding = 1 + 1e-5F;
  const auto target_reach = static_cast<float>(wanted.reach) * rounding;
  const std::array half{static_cast<float>(wanted.half.x) * rounding,
                        static_cast<float>(wanted.half.y) * rounding,
                        static_cast<float>(wanted.half.z) * rounding};
  const bool uses_target = options_->search != Search::scatter;
  const bool uses_source = options_->search != Search::gather;
  const bool has_kinds = options_->source_kinds != ~0ULL;
  const auto is_wanted = [&](const std::array<float, 3>& offset, Particles::Index i) {
    float distance2 = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const float outside = std::max(std::abs(offset[axis]) - half[axis], 0.0F);
      distance2 += outside * outside;
    }
    float reach = uses_target ? target_reach : 0;
    if (uses_source) {
      reach = std::max(reach, reaches[i] * factor * rounding);
    }
    return distance2 <= reach * reach && (!has_kinds || (options_->source_kinds >> kinds[i] & 1U) != 0);
  };
  const double reach = std::max(uses_target ? wanted.reach : 0.0, uses_source ? static_cast<double>(leaf.reach) : 0.0);
  const Vector& period = table.period();
  const Slide& slide = table.images().slide;
  const Vector between = 0.5 * (leaf.box.low + leaf.box.high) - wanted.centre;
  const Vector space = 0.5 * (leaf.box.high - leaf.box.low) + wanted.half + Vector{reach, reach, reach};
  const Shifts xs{between.x, space.x, period.x};
  const Shifts zs{between.z, space.z, period.z};
  for (std::size_t x = 0; x < xs.count(); ++x) {
    const double behind = xs.periods(x) * slide.displacement;
    const Shifts ys{between.y - behind, space.y, period.y};
    for (std::size_t y = 0; y < ys.count(); ++y) {
      for (std::size_t z = 0; z < zs.count(); ++z) {
        const Vector centre = wanted.centre - Vector{xs[x], ys[y] - behind, zs[z]};
        block_.sources.add(positions, leaf.first, mark, centre, is_wanted);
      }
    }
    if (slide.speed != 0) {
      block_.image_speeds.resize(block_.sources.size(), -xs.periods(x) * slide.speed);
    }
  }
}

void BlockMaker::find_sources(const CellTable& table, std::uint32_t cell, const Wanted& wanted) {
  const bool uses_target = options_->search != Search::scatter;
  const bool uses_source = options_->search != Search::gather;
  const auto is_near = [&](const Extent& extent) {
    constexpr double rounding = 1 + 1e-5;
    const double reach =
        std::max(uses_target ? wanted.reach : 0.0, uses_source ? static_cast<double>(extent.reach) : 0.0) * rounding;
    return distance2_of_images(extent.box, wanted.box, table.images()) <= reach * reach;
  };
  for (const std::uint32_t neighbour : table.neighbours(cell)) {
    const Cell& near = table[neighbour];
    if (!is_near(near)) {
      continue;
    }
    for (const CellGroup& group : table.groups_of(near)) {
      if (!is_near(group)) {
        continue;
      }
      for (const Leaf& leaf : table.leaves_of(group)) {
        if (is_near(leaf)) {
          add_leaf(table, neighbour, leaf, wanted);
        }
      }
    }
  }
}

void BlockMaker::for_blocks(const CellTable& table,
                            std::uint32_t cell,
                            std::span<const Particles::Index> targets,
                            const ShortRangeKernel& kernel) {
  const Particles& store = table.own();
  const std::span<const Vector> positions = store.positions();
  const std::span<const float> reaches = store[options_->reach];
  const std::span<const std::uint8_t> kinds = store[Particles::kind];
  block_.own = &store;
  block_.ghosts = &table.ghosts();
  std::size_t next = 0;
  for (const CellGroup& group : table.groups_of(table[cell])) {
    const std::size_t begin = next;
    Wanted wanted;
    float reach = 0;
    for (; next < targets.size() && targets[next] < group.first + group.count; ++next) {
      const Particles::Index i = targets[next];
      if ((options_->target_kinds >> kinds[i] & 1U) != 0) {
        wanted.box.include(positions[i]);
        reach = std::max(reach, reaches[i]);
      }
    }
    if (wanted.box.is_empty()) {
      continue;
    }
    wanted.reach = static_cast<double>(reach) * options_->reach_factor;
    wanted.centre = 0.5 * (wanted.box.low + wanted.box.high);
    wanted.half = 0.5 * (wanted.box.high - wanted.box.low);
    block_.centre = wanted.centre;
    block_.targets.clear();
    for (std::size_t i = begin; i < next; ++i) {
      const Particles::Index place = targets[i];
      block_.targets.add(positions.subspan(place, 1), place, 0, wanted.centre, [&](const auto&, Particles::Index at) {
        return (options_->target_kinds >> kinds[at] & 1U) != 0;
      });
    }
    block_.targets.gather(options_->targets, store, store);
    block_.sources.clear();
    block_.image_speeds.clear();
    find_sources(table, cell, wanted);
    block_.sources.gather(options_->sources, store, table.ghosts());
    if (options_->velocity && !block_.image_speeds.empty()) {
      block_.sources.add_to_y(*options_->velocity, block_.image_speeds);
    }
    kernel(block_);
  }
  expect(next == targets.size(), "targets ascend and are in the cell");
}

std::vector<AnyField> fields_of_sources(const ShortRangeOptions& options) {
  std::vector<AnyField> fields{Particles::position, Particles::kind, options.reach};
  const auto add = [&fields](const AnyField& field) {
    if (std::ranges::none_of(fields, [&](const AnyField& other) { return other.column == field.column; })) {
      fields.push_back(field);
    }
  };
  for (const BlockField& field : options.sources) {
    add(field.whole());
  }
  std::ranges::for_each(options.travels, add);
  return fields;
}

}  // namespace plait::particles
