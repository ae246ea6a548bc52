// SPDX-License-Identifier: Apache-2.0
#include "ring/program/settings.hpp"

#include <cmath>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace ring {

namespace {

void check(bool is_good, const char* option, const char* what) {
  if (!is_good) {
    throw plait::Error{plait::ErrorCode::bad_argument, fmt::format("{} must be {}", option, what)};
  }
}

}  // namespace

Parameters merge(const Parameters& of_snapshot, const RunSettings& settings) {
  Parameters p = of_snapshot;
  p.time_step = settings.time_step.value_or(p.time_step);
  p.theta = settings.theta.value_or(p.theta);
  if (settings.order) {
    p.order = *settings.order == "monopole" ? Order::monopole : Order::quadrupole;
  }
  p.softening = settings.softening.value_or(p.softening);
  p.collision_radius = settings.collision_radius.value_or(p.collision_radius);
  p.restitution = settings.restitution.value_or(p.restitution);
  p.contact_steps = settings.contact_steps.value_or(p.contact_steps);
  p.central_mass = settings.central_mass.value_or(p.central_mass);
  p.leaf_bodies_max = settings.leaf_bodies_max.value_or(p.leaf_bodies_max);
  p.group_bodies_max = settings.group_bodies_max.value_or(p.group_bodies_max);
  check(std::isfinite(p.time_step) && p.time_step > 0, "--time-step", "a positive number");
  check(p.theta >= 0 && p.theta < 2, "--theta", "a number from 0 (direct sum) to below 2");
  check(std::isfinite(p.softening) && p.softening >= 0, "--softening", "a length of 0 or more");
  check(std::isfinite(p.collision_radius) && p.collision_radius >= 0, "--collision-radius", "a length of 0 or more");
  check(p.restitution > 0 && p.restitution <= 1, "--restitution", "above 0, at most 1");
  check(std::isfinite(p.contact_steps) && p.contact_steps >= 2, "--contact-steps", "at least 2");
  check(std::isfinite(p.central_mass) && p.central_mass >= 0, "--central-mass", "0 or more");
  check(p.leaf_bodies_max >= 1, "--leaf-bodies", "at least 1");
  check(p.group_bodies_max >= 1, "--group-bodies", "at least 1");
  return p;
}

}  // namespace ring
