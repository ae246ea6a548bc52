// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plait/base/id.hpp"
#include "plait/particles/store/box.hpp"
#include "plait/particles/store/space.hpp"

namespace plait::particles {

/// The numbers of parts: slabs along the first axis of places, columns in each slab along the second, domains in each
/// column along the third. One domain for each rank; ranks are numbered along the third axis first.
struct DomainGrid {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;

  [[nodiscard]] std::uint64_t ranks() const noexcept { return std::uint64_t{x} * y * z; }
  [[nodiscard]] std::array<std::uint32_t, 3> counts() const noexcept { return {x, y, z}; }
  /// Slab, column in it, domain in that. Expects: a rank of the grid.
  [[nodiscard]] std::array<std::uint32_t, 3> parts_of(Rank rank) const;
  [[nodiscard]] Rank rank_of(const std::array<std::uint32_t, 3>& parts) const;
  friend bool operator==(const DomainGrid&, const DomainGrid&) = default;
};

/// As near a cube as `ranks` has divisors, no side shorter than the next. Expects: a rank.
[[nodiscard]] DomainGrid cubic_grid(std::uint32_t ranks);
/// With `y` and `z` parts as given: for rings and discs, which are divided in azimuth first.
/// Throws: `Error` with `bad_argument` when the ranks cannot be divided so.
[[nodiscard]] DomainGrid make_grid(std::uint32_t ranks, std::uint32_t y, std::uint32_t z);

/// A step on the way of a particle to its owner: to the rank with another part along one axis, and the same else.
struct Hop {
  std::uint8_t axis = 0;
  std::uint32_t part = 0;
  friend bool operator==(const Hop&, const Hop&) = default;
};

/// The domain boundaries that one rank knows: of all slabs, of the columns of its slab, and of the domains of its
/// column. They suffice to send each particle to its owner: along the first axis to its slab, along the second to its
/// column, along the third to its domain.
class Domain {
 public:
  /// Without boundaries: all of the space is in the first slab, column and domain.
  /// Throws: `Error` with `bad_argument` when `self` is no rank of the grid.
  Domain(const DomainGrid& grid, Rank self);
  /// From what `all_cuts` returned for the same grid. Throws: also `Error` with `bad_input` when the number of
  /// boundaries does not fit the grid, or they do not ascend.
  Domain(const DomainGrid& grid, Rank self, std::span<const double> all_cuts);

  [[nodiscard]] const DomainGrid& grid() const noexcept { return grid_; }
  [[nodiscard]] Rank self() const noexcept { return self_; }
  /// Of this rank, along each axis.
  [[nodiscard]] const std::array<std::uint32_t, 3>& parts() const noexcept { return parts_; }
  [[nodiscard]] bool is_cut() const noexcept { return is_cut_; }

  /// The ends of all parts along `axis` but the last, ascending: of places.
  [[nodiscard]] std::span<const double> cuts(std::size_t axis) const { return cuts_[axis]; }
  /// Of all axes at once. Expects: as many as the grid asks for, ascending, no NaN.
  void set_cuts(std::array<std::vector<double>, 3> cuts);
  /// The places of this rank; without end where there is no other rank beyond.
  [[nodiscard]] Box box() const { return {low_, high_}; }

  /// Where a particle at `place` goes next; nothing if this rank is its owner.
  [[nodiscard]] std::optional<Hop> hop(const Vector& place) const {
    if (place.x >= low_.x && place.x < high_.x && place.y >= low_.y && place.y < high_.y && place.z >= low_.z &&
        place.z < high_.z) {
      return {};
    }
    return far_hop(place);
  }
  /// The rank that a hop leads to.
  [[nodiscard]] Rank rank_of(const Hop& hop) const;

 private:
  [[nodiscard]] std::optional<Hop> far_hop(const Vector& place) const;

  DomainGrid grid_;
  Rank self_;
  std::array<std::uint32_t, 3> parts_{};
  std::array<std::vector<double>, 3> cuts_;
  // The ends of this rank's places: the upper one belongs to the next.
  Vector low_;
  Vector high_;
  bool is_cut_ = false;
};

/// The boundaries of the whole grid from the boxes of all ranks, by rank: of slabs, then of the columns of each slab,
/// then of the domains of each column. For files and pictures.
/// Expects: a box for each rank. Cost: O(ranks).
[[nodiscard]] std::vector<double> all_cuts(const DomainGrid& grid, std::span<const Box> boxes);

}  // namespace plait::particles
