// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/steps/leapfrog.hpp"

#include <cstddef>

namespace plait::particles {

void add_leapfrog(System& system, const LeapfrogOptions& options) {
  system.before("kick, drift", [options](Particles& store, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      store[options.velocity][i] += (options.time_step / 2) * store[options.acceleration][i];
      store.positions()[i] += options.time_step * store[options.velocity][i];
    }
  });
  system.after("kick", [options](Particles& store, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      store[options.velocity][i] += (options.time_step / 2) * store[options.acceleration][i];
    }
  });
}

}  // namespace plait::particles
