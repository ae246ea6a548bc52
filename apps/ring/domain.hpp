// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "ring/body.hpp"

namespace ring {

/// Ranks in azimuth, radius and height: rank = (phi * r + radius index) * z + height index.
struct DomainGrid {
  std::uint32_t phi = 1;
  std::uint32_t r = 1;
  std::uint32_t z = 1;

  [[nodiscard]] std::uint32_t ranks() const { return phi * r * z; }
  friend bool operator==(const DomainGrid&, const DomainGrid&) = default;
};

/// All ranks in azimuth, but for `radial` and `vertical` divisions of each sector.
/// Throws: `plait::Error` when they do not divide the ranks.
[[nodiscard]] DomainGrid make_grid(std::uint32_t ranks, std::uint32_t radial = 1, std::uint32_t vertical = 1);

/// A body that stands for others: where it is in (azimuth, log radius, height), and for how much cost.
struct Sample {
  std::array<double, 3> place{};
  double weight = 0;
};
static_assert(std::is_trivially_copyable_v<Sample>, "travels in messages");

[[nodiscard]] std::array<double, 3> place_of(const Vector& position);

/// About `count` bodies, each standing for an equal part of their cost; their weights sum to that cost, to a share. A
/// body without a measured cost counts as the mean, or as 1. Deterministic. Cost: O(n).
[[nodiscard]] std::vector<Sample> choose_samples(std::span<const Body> bodies, std::uint32_t count);

/// Which rank should hold which place: sectors of azimuth, each divided in radius, each part in height.
///
/// The first sector begins at azimuth -pi, where the last one ends; azimuth is periodic and the ends are neighbours.
/// Every rank computes the same from the same samples in the same order.
class Domains {
 public:
  /// Equal parts of azimuth; in radius and height all in the first, until samples tell.
  explicit Domains(const DomainGrid& grid);
  /// Parts of equal weight. Without samples as above. Cost: O(samples log samples), on every rank.
  Domains(const DomainGrid& grid, std::vector<Sample> samples);
  /// From `bounds()`, as read from a file. Throws: `plait::Error` when they are of another grid or do not ascend.
  Domains(const DomainGrid& grid, std::span<const double> bounds);

  /// These bounds where `old` is `share` old and the rest new: moves them smoothly (exponential mean).
  /// Expects: the same grid, 0 <= share < 1.
  void blend(const Domains& old, double share);

  [[nodiscard]] std::uint32_t rank_of(const Vector& position) const;
  /// The ranks that touch `rank`, with azimuth periodic, in ascending order and without itself.
  [[nodiscard]] std::vector<std::uint32_t> neighbors(std::uint32_t rank) const;
  /// Where a body at `from` that belongs to `goal` goes next: a neighbour one nearer on each axis, or `goal`.
  /// Arrives after at most the largest distance along an axis.
  [[nodiscard]] std::uint32_t next_hop(std::uint32_t from, std::uint32_t goal) const;

  [[nodiscard]] const DomainGrid& grid() const noexcept { return grid_; }
  /// All inner bounds, sector by sector: for snapshots.
  [[nodiscard]] std::span<const double> bounds() const noexcept { return bounds_; }

 private:
  [[nodiscard]] std::size_t radial_begin(std::uint32_t phi) const;
  [[nodiscard]] std::size_t vertical_begin(std::uint32_t phi, std::uint32_t r) const;

  DomainGrid grid_;
  std::vector<double> bounds_;  ///< phi - 1 of azimuth; for each sector r - 1 of radius; for each part z - 1.
};

}  // namespace ring
