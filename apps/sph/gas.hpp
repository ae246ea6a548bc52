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

/// Kinds of particles, as numbered in files.
inline constexpr std::uint8_t gas_kind = 0;
inline constexpr std::uint8_t dark_kind = 1;

/// The fields of a particle besides position, id and kind; `GasFields{store}` adds them to the store. "Now" means
/// predicted from the last kick to the present time.
struct GasFields {
  Particles& store;

  Field<double> mass = store.add_field<double>("mass");
  Field<Vector> velocity = store.add_field<Vector>("velocity");          ///< At the last kick.
  Field<Vector> velocity_now = store.add_field<Vector>("velocity now");  ///< Sent to neighbours.
  Field<Vector> acceleration = store.add_field<Vector>("acceleration");  ///< By pressure and viscosity.
  Field<Vector> gravity = store.add_field<Vector>("gravity");            ///< Acceleration by gravity; zero without.
  Field<double> potential = store.add_field<double>("potential");        ///< Of gravity, negative.

  Field<float> energy = store.add_field<float>("energy");          ///< Specific internal energy at the last kick.
  Field<float> energy_now = store.add_field<float>("energy now");  ///< Sent to neighbours.
  Field<float> energy_rate = store.add_field<float>("energy rate");

  Field<float> smoothing = store.add_field<float>("smoothing length");            ///< Length h; sent to neighbours.
  Field<float> smoothing_rate = store.add_field<float>("smoothing length rate");  ///< dh/dt.
  Field<float> density = store.add_field<float>("density");                       ///< Sent to neighbours.
  Field<float> density_rate = store.add_field<float>("density rate");
  Field<float> pressure = store.add_field<float>("pressure");      ///< For files.
  Field<float> grad_h = store.add_field<float>("grad h");          ///< 1 / (1 + h/(3 rho) drho/dh); sent to neighbours.
  Field<float> viscosity = store.add_field<float>("viscosity");    ///< Includes Balsara's switch; sent to neighbours.
  Field<float> conduction = store.add_field<float>("conduction");  ///< Sent to neighbours.
  Field<float> alpha = store.add_field<float>("alpha");            ///< Viscosity without Balsara's switch.
  /// The symmetric part of the flow's gradient: xx, yy, zz, and yz, xz, xy. Sent to neighbours by schemes that use it.
  Field<Vector> strain_along = store.add_field<Vector>("strain along axes");
  Field<Vector> strain_across = store.add_field<Vector>("strain across axes");
  Field<float> divergence = store.add_field<float>("divergence");  ///< Of the flow, when last computed.
  Field<float> laplacian =
      store.add_field<float>("laplacian");  ///< Of the specific energy, from the last sum of forces.
  Field<float> signal_speed = store.add_field<float>("signal speed");  ///< The largest of all neighbours.
  Field<float> age = store.add_field<float>("age");                    ///< Time since the divergence was computed.
};

/// The columns of a store as plain pointers, for loops: `Gas{store, fields}`. Valid until the store changes size or
/// order.
struct Gas {
  Particles& store;
  const GasFields& fields;

  std::size_t count = store.size();
  const std::uint64_t* id = store.ids().data();
  const std::uint8_t* kind = store[Particles::kind].data();
  Vector* position = store.positions().data();
  double* mass = store[fields.mass].data();
  Vector* velocity = store[fields.velocity].data();
  Vector* velocity_now = store[fields.velocity_now].data();
  Vector* acceleration = store[fields.acceleration].data();
  Vector* gravity = store[fields.gravity].data();
  double* potential = store[fields.potential].data();
  float* energy = store[fields.energy].data();
  float* energy_now = store[fields.energy_now].data();
  float* energy_rate = store[fields.energy_rate].data();
  float* smoothing = store[fields.smoothing].data();
  float* smoothing_rate = store[fields.smoothing_rate].data();
  float* density = store[fields.density].data();
  float* density_rate = store[fields.density_rate].data();
  float* pressure = store[fields.pressure].data();
  float* grad_h = store[fields.grad_h].data();
  float* viscosity = store[fields.viscosity].data();
  float* conduction = store[fields.conduction].data();
  float* alpha = store[fields.alpha].data();
  Vector* strain_along = store[fields.strain_along].data();
  Vector* strain_across = store[fields.strain_across].data();
  float* divergence = store[fields.divergence].data();
  float* laplacian = store[fields.laplacian].data();
  float* signal_speed = store[fields.signal_speed].data();
  float* age = store[fields.age].data();
};

}  // namespace sph
