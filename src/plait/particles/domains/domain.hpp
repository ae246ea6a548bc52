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

/// The numbers of slabs along the first axis of `Space::place`, of columns in each slab along the second, and of
/// domains in each column along the third. Each rank has one domain; rank numbers vary fastest along the third axis.
struct DomainGrid {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;

  [[nodiscard]] std::uint64_t ranks() const noexcept { return std::uint64_t{x} * y * z; }
  [[nodiscard]] std::array<std::uint32_t, 3> counts() const noexcept { return {x, y, z}; }
  /// The slab, column and domain of a rank. Expects: the rank is in the grid.
  [[nodiscard]] std::array<std::uint32_t, 3> parts_of(Rank rank) const;
  [[nodiscard]] Rank rank_of(const std::array<std::uint32_t, 3>& parts) const;
  friend bool operator==(const DomainGrid&, const DomainGrid&) = default;
};

/// The grid of `ranks` that is nearest to a cube, with sides in descending order. Expects: `ranks > 0`.
[[nodiscard]] DomainGrid cubic_grid(std::uint32_t ranks);
/// The grid of `ranks` that is nearest to a square of columns along z: for particles in the plane of x and y, of which
/// all domains along z but one would be empty. Expects: `ranks > 0`.
[[nodiscard]] DomainGrid square_grid(std::uint32_t ranks);
/// The grid of `ranks` with the given `y` and `z`: for rings and discs, which are divided in azimuth first.
/// Throws: `Error` with `bad_argument` if `y * z` does not divide `ranks`.
[[nodiscard]] DomainGrid make_grid(std::uint32_t ranks, std::uint32_t y, std::uint32_t z);

/// A step on a particle's way to its owner: to the rank with another part along one axis.
struct Hop {
  std::uint8_t axis = 0;
  std::uint32_t part = 0;
  friend bool operator==(const Hop&, const Hop&) = default;
};

/// The domain boundaries that one rank knows: those of all slabs, of the columns of its slab, and of the domains of its
/// column. With these, a particle travels along the first axis to its slab, along the second to its column, along the
/// third to its owner.
class Domain {
 public:
  /// Without boundaries, the whole space belongs to the first slab, column and domain.
  /// Throws: `Error` with `bad_argument` if `self` is not in the grid.
  Domain(const DomainGrid& grid, Rank self);
  /// `all_cuts`: the result of the function of that name for this grid. Throws: also `Error` with `bad_input` if the
  /// number of boundaries does not fit the grid, or they do not ascend.
  Domain(const DomainGrid& grid, Rank self, std::span<const double> all_cuts);

  [[nodiscard]] const DomainGrid& grid() const noexcept { return grid_; }
  [[nodiscard]] Rank self() const noexcept { return self_; }
  /// This rank's slab, column and domain.
  [[nodiscard]] const std::array<std::uint32_t, 3>& parts() const noexcept { return parts_; }
  [[nodiscard]] bool is_cut() const noexcept { return is_cut_; }

  /// The boundaries between parts along `axis`, ascending.
  [[nodiscard]] std::span<const double> cuts(std::size_t axis) const { return cuts_[axis]; }
  /// Sets the boundaries of all axes. Expects: their numbers fit the grid; they ascend, without NaN.
  void set_cuts(std::array<std::vector<double>, 3> cuts);
  /// This rank's domain; infinite where no rank is beyond.
  [[nodiscard]] Box box() const { return {low_, high_}; }

  /// The next hop of a particle at `place`; none if this rank is its owner.
  [[nodiscard]] std::optional<Hop> hop(const Vector& place) const {
    if (place.x >= low_.x && place.x < high_.x && place.y >= low_.y && place.y < high_.y && place.z >= low_.z &&
        place.z < high_.z) {
      return {};
    }
    return far_hop(place);
  }
  /// The destination of a hop.
  [[nodiscard]] Rank rank_of(const Hop& hop) const;

 private:
  [[nodiscard]] std::optional<Hop> far_hop(const Vector& place) const;

  DomainGrid grid_;
  Rank self_;
  std::array<std::uint32_t, 3> parts_{};
  std::array<std::vector<double>, 3> cuts_;
  // The corners of this rank's domain, which includes the lower ends only.
  Vector low_;
  Vector high_;
  bool is_cut_ = false;
};

/// The boundaries of all slabs, then of the columns of each slab, then of the domains of each column: for files and
/// pictures. `boxes` are those of all domains, by rank. Cost: O(ranks).
[[nodiscard]] std::vector<double> all_cuts(const DomainGrid& grid, std::span<const Box> boxes);

}  // namespace plait::particles
