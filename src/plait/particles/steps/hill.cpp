// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/steps/hill.hpp"

#include <cmath>
#include <cstddef>

namespace plait::particles {

Epicycle::Epicycle(double frequency, double duration)
    : frequency_{frequency},
      duration_{duration},
      sine_{std::sin(frequency * duration)},
      cosine_{std::cos(frequency * duration)} {}

void Epicycle::advance(Vector& position, Vector& velocity) const {
  const double w = frequency_;
  // v_y + 2 w x is constant, and w / 2 times the guiding centre.
  const double centre = 4 * position.x + 2 / w * velocity.y;
  const double away = position.x - centre;
  const double x_speed = velocity.x;
  const double new_away = cosine_ * away + sine_ / w * x_speed;
  velocity.x = cosine_ * x_speed - w * sine_ * away;
  velocity.y = -1.5 * w * centre - 2 * w * new_away;
  position.x = centre + new_away;
  position.y += -1.5 * w * centre * duration_ - 2 * (sine_ * away + (1 - cosine_) / w * x_speed);
  const double z = position.z;
  position.z = cosine_ * z + sine_ / w * velocity.z;
  velocity.z = cosine_ * velocity.z - w * sine_ * z;
}

void add_hill_leapfrog(System& system, const HillOptions& options) {
  const auto kick = [options](Particles& store, std::size_t i) {
    store[options.velocity][i] += (options.time_step / 2) * store[options.acceleration][i];
  };
  const Epicycle free{options.frequency, options.time_step};
  system.before("kick, drift", [options, kick, free](Particles& store, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      kick(store, i);
      free.advance(store.positions()[i], store[options.velocity][i]);
    }
  });
  system.after("kick", [kick](Particles& store, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      kick(store, i);
    }
  });
}

}  // namespace plait::particles
