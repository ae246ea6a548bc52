// SPDX-License-Identifier: Apache-2.0
#include "sph/exact/sedov.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace sph::exact {

namespace {

constexpr std::size_t steps = 4000;

/// Derivatives by x = radius / shock radius of density, speed and pressure in units of the density ahead, the shock's
/// speed and both. Conservation of mass, momentum and entropy where the shock slows down as time^(-3/5).
State slopes_at(double x, const State& s, double gamma) {
  const double relative = s.speed - x;
  const double speed = (3 * s.pressure - 2 * gamma * s.pressure * s.speed / x - 1.5 * s.density * s.speed * relative) /
                       (gamma * s.pressure - s.density * relative * relative);
  return {-s.density * (speed + 2 * s.speed / x) / relative, speed, s.density * (1.5 * s.speed - relative * speed)};
}

State plus(const State& a, double factor, const State& b) {
  return {a.density + factor * b.density, a.speed + factor * b.speed, a.pressure + factor * b.pressure};
}

}  // namespace

Sedov::Sedov(double energy, double density, double gamma) : density_{density}, profile_(steps + 1) {
  State now{(gamma + 1) / (gamma - 1), 2 / (gamma + 1), 2 / (gamma + 1)};
  const double step = -1.0 / steps;
  double integral = 0;
  const auto energy_at = [&](double x, const State& s) {
    return (s.density * s.speed * s.speed / 2 + s.pressure / (gamma - 1)) * x * x;
  };
  for (std::size_t i = steps; i > 0; --i) {
    profile_[i] = now;
    const double x = static_cast<double>(i) / steps;
    const double before = energy_at(x, now);
    if (i > 4) {  // the centre itself, where nothing is left but pressure, is singular
      const State a = slopes_at(x, now, gamma);
      const State b = slopes_at(x + step / 2, plus(now, step / 2, a), gamma);
      const State c = slopes_at(x + step / 2, plus(now, step / 2, b), gamma);
      const State d = slopes_at(x + step, plus(now, step, c), gamma);
      now = plus(plus(plus(plus(now, step / 6, a), step / 3, b), step / 3, c), step / 6, d);
      now.density = std::max(now.density, 0.0);
    } else {
      now = {0, now.speed * static_cast<double>(i - 1) / static_cast<double>(i), now.pressure};
    }
    integral += (before + energy_at(x + step, now)) / (2 * steps);
  }
  profile_[0] = {0, 0, now.pressure};
  // energy = density (dR/dt)^2 R^3 4 pi integral, dR/dt = 2/5 R/t.
  scale_ = std::pow(energy / (density * 16 * M_PI / 25 * integral), 0.2);
}

double Sedov::shock_radius(double time) const {
  return scale_ * std::pow(time, 0.4);
}

double Sedov::kinetic_radius() const {
  double moment = 0;
  double total = 0;
  for (std::size_t i = 0; i <= steps; ++i) {
    const double x = static_cast<double>(i) / steps;
    const double energy = profile_[i].density * profile_[i].speed * profile_[i].speed * x * x * (i == steps ? 0.5 : 1);
    moment += energy * x;
    total += energy;
  }
  return moment / total;
}

State Sedov::at(double radius, double time) const {
  const double shock = shock_radius(time);
  if (radius >= shock) {
    return {density_, 0, 0};
  }
  const double place = radius / shock * steps;
  const auto i = std::min(static_cast<std::size_t>(place), steps - 1);
  const double part = place - static_cast<double>(i);
  const State s = plus(plus({}, 1 - part, profile_[i]), part, profile_[i + 1]);
  const double speed = 0.4 * shock / time;
  return {density_ * s.density, speed * s.speed, density_ * speed * speed * s.pressure};
}

}  // namespace sph::exact
