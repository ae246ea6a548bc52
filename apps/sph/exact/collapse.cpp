// SPDX-License-Identifier: Apache-2.0
#include "sph/exact/collapse.hpp"

#include <algorithm>
#include <cmath>

namespace sph::exact {

namespace {

constexpr double collapse_gamma = 5.0 / 3;
constexpr double collapse_courant = 0.3;
/// Of the viscous pressure, in squared jumps of the speed, and in jumps times the speed of sound.
constexpr double drag_square = 2;
constexpr double drag_linear = 0.3;

double ball(double radius) {
  return 4 * M_PI / 3 * radius * radius * radius;
}

}  // namespace

double Collapse::Shell::pressure() const {
  return (collapse_gamma - 1) * density() * energy;
}

Collapse::Collapse(double time, std::size_t shells)
    : radius_(shells + 1), speed_(shells + 1), within_(shells + 1), shells_(shells) {
  for (std::size_t i = 0; i <= shells; ++i) {
    radius_[i] = static_cast<double>(i) / static_cast<double>(shells);
    within_[i] = radius_[i] * radius_[i];
  }
  for (std::size_t i = 0; i < shells; ++i) {
    shells_[i] = {
        .mass = within_[i + 1] - within_[i], .volume = ball(radius_[i + 1]) - ball(radius_[i]), .energy = 0.05};
  }
  double now = 0;
  while (now < time) {
    const double dt = std::min(longest_step(), time - now);
    advance(dt);
    now = time - now <= dt ? time : now + dt;
  }
}

double Collapse::longest_step() const {
  double longest = 1e-3;
  for (std::size_t i = 0; i < shells_.size(); ++i) {
    const double sound = std::sqrt(collapse_gamma * (collapse_gamma - 1) * shells_[i].energy);
    const double jump = std::abs(speed_[i + 1] - speed_[i]);
    longest = std::min(longest, collapse_courant * (radius_[i + 1] - radius_[i]) / (sound + 4 * jump));
  }
  return longest;
}

void Collapse::advance(double dt) {
  const auto push = [&](std::size_t shell) { return shells_[shell].pressure() + shells_[shell].drag; };
  for (std::size_t i = 1; i < radius_.size(); ++i) {
    const bool is_surface = i == shells_.size();  // vacuum outside
    const double mass = (shells_[i - 1].mass + (is_surface ? 0 : shells_[i].mass)) / 2;
    const double outward = push(i - 1) - (is_surface ? 0 : push(i));
    speed_[i] += dt * (4 * M_PI * radius_[i] * radius_[i] * outward / mass - within_[i] / (radius_[i] * radius_[i]));
  }
  for (std::size_t i = 1; i < radius_.size(); ++i) {
    radius_[i] += dt * speed_[i];
  }
  for (std::size_t i = 0; i < shells_.size(); ++i) {
    Shell& shell = shells_[i];
    const double pressure = shell.pressure();
    const double volume = ball(radius_[i + 1]) - ball(radius_[i]);
    const double change = (volume - shell.volume) / shell.mass;
    shell.volume = volume;
    const double jump = speed_[i + 1] - speed_[i];
    const double sound = std::sqrt(collapse_gamma * (collapse_gamma - 1) * shell.energy);
    shell.drag = jump < 0 ? shell.density() * jump * (drag_square * jump - drag_linear * sound) : 0;
    // The work by the mean of the pressures before and after, the latter being proportional to the energy after.
    const double half = (collapse_gamma - 1) * shell.density() * change / 2;
    shell.energy = (shell.energy - (pressure / 2 + shell.drag) * change) / (1 + half);
  }
}

State Collapse::at(double radius) const {
  const auto above = std::ranges::upper_bound(radius_, radius);
  if (above == radius_.end() || above == radius_.begin()) {
    return {};
  }
  const auto i = static_cast<std::size_t>(above - radius_.begin()) - 1;
  const double part = (radius - radius_[i]) / (radius_[i + 1] - radius_[i]);
  return {shells_[i].density(), (1 - part) * speed_[i] + part * speed_[i + 1], shells_[i].pressure()};
}

double Collapse::kinetic() const {
  double energy = 0;
  for (std::size_t i = 0; i < shells_.size(); ++i) {
    energy += shells_[i].mass * (speed_[i] * speed_[i] + speed_[i + 1] * speed_[i + 1]) / 4;
  }
  return energy;
}

double Collapse::thermal() const {
  double energy = 0;
  for (const Shell& shell : shells_) {
    energy += shell.mass * shell.energy;
  }
  return energy;
}

double Collapse::potential() const {
  double energy = 0;
  for (std::size_t i = 0; i < shells_.size(); ++i) {
    const double middle = (radius_[i] + radius_[i + 1]) / 2;
    energy -= shells_[i].mass * (within_[i] + within_[i + 1]) / 2 / middle;
  }
  return energy;
}

}  // namespace sph::exact
