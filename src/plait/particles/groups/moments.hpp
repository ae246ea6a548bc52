// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "plait/comm/endpoint.hpp"
#include "plait/particles/store/particles.hpp"
#include "plait/particles/store/space.hpp"

namespace plait::particles {

/// A symmetric matrix of three rows.
struct SymmetricTensor {
  double xx = 0;
  double yy = 0;
  double zz = 0;
  double yz = 0;
  double xz = 0;
  double xy = 0;

  [[nodiscard]] double trace() const noexcept { return xx + yy + zz; }
  friend bool operator==(const SymmetricTensor&, const SymmetricTensor&) = default;
};

/// The eigenvalues of a tensor, the largest first, and their directions: unit vectors, each up to its sign.
struct PrincipalAxes {
  std::array<double, 3> values{};
  std::array<Vector, 3> directions{};
};

/// Computes the principal axes by Jacobi's rotations. Errors are some roundings of the largest value.
[[nodiscard]] PrincipalAxes principal_axes(const SymmetricTensor& tensor);

/// The sums over a selection of particles. Means are weighted by mass. All are 0 without particles.
struct SelectionMoments {
  std::uint64_t members = 0;
  double mass = 0;
  Vector centre;            ///< Of mass; in the root box of periodic spaces.
  Vector velocity;          ///< Of the centre.
  Vector angular_momentum;  ///< About the centre, of velocities relative to its own.
  /// The mean of d d^T, d the distance from the centre. The roots of its eigenvalues are the extents along the axes of
  /// the selection's shape.
  SymmetricTensor extent;
  /// The mean of w w^T, w the velocity relative to the centre's.
  SymmetricTensor dispersion;

  /// The root mean square of distances from the centre.
  [[nodiscard]] double radius() const;
  /// The root mean square of velocities relative to the centre's, of all three axes.
  [[nodiscard]] double speed() const;
  /// The tensor of inertia about the centre.
  [[nodiscard]] SymmetricTensor inertia() const;
};
static_assert(std::is_trivially_copyable_v<SelectionMoments>, "travels in messages");

/// The moments of the particles with one label, such as those of a group.
struct LabelledMoments : SelectionMoments {
  std::uint64_t id = 0;  ///< The label.
};

/// The label of particles that have none.
inline constexpr std::uint64_t no_label = std::numeric_limits<std::uint64_t>::max();

/// What moments are computed from.
struct MomentsOptions {
  Field<double> mass;
  std::optional<Field<Vector>> velocity;  ///< Absent: all are 0.
  /// In periodic spaces, a selection must be smaller than half of the space along each axis.
  Space space;
};

/// Whether the particle at a place of the store is in the selection.
using Selection = std::function<bool(const Particles& particles, Particles::Index place)>;

/// Sums a selection of the particles of all ranks; bitwise equal on all ranks. No particle travels. Collective. Cost:
/// O(particles), one gather of a row from each rank.
[[nodiscard]] SelectionMoments measure_moments(comm::Endpoint& messages,
                                               const Particles& particles,
                                               const MomentsOptions& options,
                                               const Selection& selects);

/// Sums the particles of all ranks by label. `labels` has one for each particle of this rank's store, in its order;
/// those with `no_label` are left out. The moments of a label are on one rank, which need not have particles of it; the
/// heaviest of a rank first, equal ones by id. No particle travels, but one row for each label of each rank.
/// Collective. Throws: `Error` with `bad_argument` if there is not one label for each particle. Cost: O(particles) hash
/// operations.
[[nodiscard]] std::vector<LabelledMoments> measure_moments(comm::Endpoint& messages,
                                                           const Particles& particles,
                                                           const MomentsOptions& options,
                                                           std::span<const std::uint64_t> labels);

}  // namespace plait::particles
