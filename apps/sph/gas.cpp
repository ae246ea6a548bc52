// SPDX-License-Identifier: Apache-2.0
#include "sph/gas.hpp"

namespace sph {

GasFields::GasFields(Particles& store)
    : mass{store.add_field<double>("mass")},
      velocity{store.add_field<Vector>("velocity")},
      velocity_now{store.add_field<Vector>("velocity now")},
      acceleration{store.add_field<Vector>("acceleration")},
      gravity{store.add_field<Vector>("gravity")},
      potential{store.add_field<double>("potential")},
      energy{store.add_field<float>("energy")},
      energy_now{store.add_field<float>("energy now")},
      energy_rate{store.add_field<float>("energy rate")},
      smoothing{store.add_field<float>("smoothing length")},
      smoothing_rate{store.add_field<float>("smoothing length rate")},
      density{store.add_field<float>("density")},
      density_rate{store.add_field<float>("density rate")},
      pressure{store.add_field<float>("pressure")},
      grad_h{store.add_field<float>("grad h")},
      viscosity{store.add_field<float>("viscosity")},
      conduction{store.add_field<float>("conduction")},
      alpha{store.add_field<float>("alpha")},
      divergence{store.add_field<float>("divergence")},
      laplacian{store.add_field<float>("laplacian")},
      signal_speed{store.add_field<float>("signal speed")},
      age{store.add_field<float>("age")} {}

Gas::Gas(Particles& store, const GasFields& fields)
    : count{store.size()},
      id{store.ids().data()},
      kind{store[Particles::kind].data()},
      position{store.positions().data()},
      mass{store[fields.mass].data()},
      velocity{store[fields.velocity].data()},
      velocity_now{store[fields.velocity_now].data()},
      acceleration{store[fields.acceleration].data()},
      gravity{store[fields.gravity].data()},
      potential{store[fields.potential].data()},
      energy{store[fields.energy].data()},
      energy_now{store[fields.energy_now].data()},
      energy_rate{store[fields.energy_rate].data()},
      smoothing{store[fields.smoothing].data()},
      smoothing_rate{store[fields.smoothing_rate].data()},
      density{store[fields.density].data()},
      density_rate{store[fields.density_rate].data()},
      pressure{store[fields.pressure].data()},
      grad_h{store[fields.grad_h].data()},
      viscosity{store[fields.viscosity].data()},
      conduction{store[fields.conduction].data()},
      alpha{store[fields.alpha].data()},
      divergence{store[fields.divergence].data()},
      laplacian{store[fields.laplacian].data()},
      signal_speed{store[fields.signal_speed].data()},
      age{store[fields.age].data()} {}

}  // namespace sph
