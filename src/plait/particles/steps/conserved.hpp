// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "plait/particles/store/particles.hpp"

namespace plait::particles {

/// What particles that only act on each other keep. The sums of ranks are added.
struct Conserved {
  double mass = 0;
  double kinetic = 0;    ///< Energy.
  double potential = 0;  ///< Energy; of pairs of particles, each once.
  Vector momentum;
  Vector angular_momentum;  ///< About the origin.

  Conserved& operator+=(const Conserved& other);
};
static_assert(std::is_trivially_copyable_v<Conserved>, "travels in messages");

/// The fields of which it is the sum.
struct ConservedFields {
  Field<double> mass;
  Field<Vector> velocity;
  Field<double> potential;  ///< Of the other particles, per mass.
};

/// Of the particles of this rank.
[[nodiscard]] Conserved conserved(const Particles& particles, const ConservedFields& fields);

}  // namespace plait::particles
