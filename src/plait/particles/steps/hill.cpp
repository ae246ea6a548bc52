// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/steps/hill.hpp"

#include <cmath>
#include <cstddef>
#include <utility>

#include "plait/particles/steps/integrator.hpp"

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
  Integrator integrator = leapfrog({.velocity = options.velocity, .acceleration = options.acceleration});
  integrator.drift = [options](Particles& store, std::size_t first, std::size_t last, double duration) {
    const Epicycle free{options.frequency, duration};
    for (std::size_t i = first; i < last; ++i) {
      free.advance(store.positions()[i], store[options.velocity][i]);
    }
  };
  system.integrate(std::move(integrator));
  system.take_steps({.step = options.time_step});
}

}  // namespace plait::particles
