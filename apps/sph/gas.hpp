// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "plait/particles.hpp"
#include "plait/plait.hpp"

namespace sph {

using plait::particles::Field;
using plait::particles::Particles;
using plait::particles::Vector;

/// Kinds of particles, as files number them.
inline constexpr std::uint8_t gas_kind = 0;
inline constexpr std::uint8_t dark_kind = 1;

/// What a particle carries besides position, id and kind. "Now" means predicted from the last kick to the present time.
struct GasFields {
  Field<double> mass;
  Field<Vector> velocity;      ///< At the last kick.
  Field<Vector> velocity_now;  ///< Travels.
  Field<Vector> acceleration;  ///< By pressure and viscosity.
  Field<Vector> gravity;       ///< Acceleration by gravity; zero without.
  Field<double> potential;     ///< Of gravity, negative.

  Field<float> energy;      ///< Specific internal energy at the last kick.
  Field<float> energy_now;  ///< Travels.
  Field<float> energy_rate;

  Field<float> smoothing;       ///< Length h; travels.
  Field<float> smoothing_rate;  ///< dh/dt.
  Field<float> density;         ///< Travels.
  Field<float> density_rate;
  Field<float> pressure;      ///< For files.
  Field<float> grad_h;        ///< 1 / (1 + h/(3 rho) drho/dh); travels.
  Field<float> viscosity;     ///< With Balsara's switch in it; travels.
  Field<float> conduction;    ///< Travels.
  Field<float> alpha;         ///< Viscosity without the switch.
  Field<float> divergence;    ///< Of the flow, when it was computed last.
  Field<float> laplacian;     ///< Of the specific energy, from the last sum of forces.
  Field<float> signal_speed;  ///< Fastest that a neighbour's news come.
  Field<float> age;           ///< Time since the divergence was computed last.

  /// Adds them all to `store`.
  explicit GasFields(Particles& store);
};

/// The columns of a store as plain pointers, for loops; valid until the store changes size or order.
struct Gas {
  std::size_t count;
  const std::uint64_t* id;
  const std::uint8_t* kind;
  Vector* position;
  double* mass;
  Vector *velocity, *velocity_now, *acceleration, *gravity;
  double* potential;
  float *energy, *energy_now, *energy_rate;
  float *smoothing, *smoothing_rate, *density, *density_rate, *pressure, *grad_h, *viscosity, *conduction, *alpha;
  float *divergence, *laplacian, *signal_speed, *age;

  Gas(Particles& store, const GasFields& fields);
};

}  // namespace sph
