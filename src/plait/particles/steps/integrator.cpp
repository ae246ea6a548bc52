// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/steps/integrator.hpp"

namespace plait::particles {

Integrator leapfrog(const LeapfrogFields& fields) {
  Integrator integrator{.velocity = fields.velocity, .drift = {}, .kick = {}, .forces = {fields.acceleration}};
  integrator.drift = [fields](Particles& store, std::size_t first, std::size_t last, double duration) {
    const auto positions = store.positions();
    const auto velocities = store[fields.velocity];
    for (std::size_t i = first; i < last; ++i) {
      positions[i] += duration * velocities[i];
    }
  };
  integrator.kick = [fields](Particles& store, std::span<const Kick> kicks) {
    const auto velocities = store[fields.velocity];
    const auto accelerations = store[fields.acceleration];
    for (const Kick& kick : kicks) {
      velocities[kick.place] += kick.duration * accelerations[kick.place];
    }
  };
  if (fields.velocity_now) {
    integrator.settle = [fields, now = *fields.velocity_now](Particles& store, std::span<const Kick> kicked) {
      for (const Kick& kick : kicked) {
        store[now][kick.place] = store[fields.velocity][kick.place];
      }
    };
    integrator.predict = [fields, predicted = *fields.velocity_now](
                             Particles& store, std::size_t first, std::size_t last, double duration) {
      const auto now = store[predicted];
      const auto accelerations = store[fields.acceleration];
      for (std::size_t i = first; i < last; ++i) {
        now[i] += duration * accelerations[i];
      }
    };
    integrator.predicted = {*fields.velocity_now};
  }
  return integrator;
}

}  // namespace plait::particles
