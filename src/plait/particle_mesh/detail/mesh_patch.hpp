// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "plait/fft/layout.hpp"
#include "plait/particles/store/space.hpp"

namespace plait::particles::detail {

/// A mesh over a periodic box. Point (i, j, k) is at `low` + (i, j, k) `spacing`.
struct PeriodicMesh {
  std::array<fft::Index, 3> lengths{};
  Vector low;
  Vector spacing;

  /// The mesh with as many points along each axis of `box`.
  [[nodiscard]] static PeriodicMesh over(const Box& box, const std::array<fft::Index, 3>& lengths) {
    const Vector edges = box.high - box.low;
    return {lengths,
            box.low,
            {edges.x / static_cast<double>(lengths[0]),
             edges.y / static_cast<double>(lengths[1]),
             edges.z / static_cast<double>(lengths[2])}};
  }

  /// `place` in distances of points from the first.
  [[nodiscard]] std::array<double, 3> coordinates(const Vector& place) const {
    return {(place.x - low.x) / spacing.x, (place.y - low.y) / spacing.y, (place.z - low.z) / spacing.z};
  }
};

/// The smallest box that contains both, either of which may be empty.
[[nodiscard]] fft::IndexBox joined(const fft::IndexBox& one, const fft::IndexBox& other);

/// What a patch has between its points.
struct MeshValue {
  double potential = 0;
  Vector slope;  ///< The gradient of the potential.
};

/// The points of a mesh near the particles of one rank, with one value each.
///
/// Indices go on beyond the mesh: they are those of images. `spline_order` points along each axis belong to a particle.
class MeshPatch {
 public:
  /// The points of the particles at `places`. Cost: O(particles).
  [[nodiscard]] static fft::IndexBox points_around(const PeriodicMesh& mesh, std::span<const Vector> places);

  /// Covers the points in `box`, whose values are undefined until all parts are cleared. Keeps its memory.
  void cover(const PeriodicMesh& mesh, const fft::IndexBox& box);
  /// Sets the values of part `part` of `parts` to 0. Threads: concurrent for different parts.
  void clear(std::uint32_t part, std::uint32_t parts);

  /// Adds `charge`, spread over points. Expects: the patch covers `place`. Threads: concurrent for particles that have
  /// no points in common (`PatchColumns`).
  void deposit(const Vector& place, double charge);
  /// Interpolates the values. Expects: as above.
  [[nodiscard]] MeshValue at(const Vector& place) const;

  [[nodiscard]] const fft::IndexBox& box() const noexcept { return box_; }
  /// The values, axis 2 fastest.
  [[nodiscard]] std::span<double> values() noexcept { return values_; }
  /// The offset in `values` of a point of `box`.
  [[nodiscard]] std::size_t offset(fft::Index i, fft::Index j, fft::Index k) const noexcept {
    return static_cast<std::size_t>(((i - box_.low[0]) * box_.extent(1) + j - box_.low[1]) * box_.extent(2) + k -
                                    box_.low[2]);
  }

 private:
  PeriodicMesh mesh_;
  fft::IndexBox box_;
  std::vector<double> values_;
};

}  // namespace plait::particles::detail
