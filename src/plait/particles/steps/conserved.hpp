// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "plait/particles/store/particles.hpp"

namespace plait::particles {

/// The conserved quantities of an isolated system; add those of all ranks.
struct Conserved {
  double mass = 0;
  double kinetic = 0;    ///< Energy.
  double potential = 0;  ///< Energy, with each pair counted once.
  Vector momentum;
  Vector angular_momentum;  ///< About the origin.

  Conserved& operator+=(const Conserved& other);
};
static_assert(std::is_trivially_copyable_v<Conserved>, "travels in messages");

/// The fields from which `conserved` is computed.
struct ConservedFields {
  Field<double> mass;
  Field<Vector> velocity;
  Field<double> potential;  ///< Of the other particles, per mass.
};

/// Computes the sums over the particles of this rank.
[[nodiscard]] Conserved conserved(const Particles& particles, const ConservedFields& fields);

}  // namespace plait::particles
