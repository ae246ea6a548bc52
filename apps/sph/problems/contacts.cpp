// SPDX-License-Identifier: Apache-2.0
// Problems of gases of different densities that touch each other: flows in two dimensions, in thin periodic boxes.
// Points are equally dense in both gases, and particles have different masses.
#include <algorithm>
#include <cmath>

#include "sph/exact/shear/shear_layer.hpp"
#include "sph/problem.hpp"
#include "sph/problems/glass/fill.hpp"

namespace sph {

namespace {

/// A sample of gas in a periodic box; the caller sets velocities.
Sample sample_of(const Vector& at, const exact::State& gas, double spacing, const Scheme& scheme) {
  return {.position = at,
          .mass = gas.density * spacing * spacing * spacing,
          .energy = gas.pressure / (gas.density * (static_cast<double>(scheme.gamma) - 1)),
          .smoothing = static_cast<double>(scheme.eta) * spacing};
}

}  // namespace

Problem make_kelvin_helmholtz(const ProblemOptions& options) {
  Problem problem;
  const double spacing = 1.0 / whole_glasses(options.resolution);
  const Vector high{1, 1, thin_box_particles * spacing};
  problem.space = {.root = {{}, high}, .periodic = {true, true, true}};
  problem.time_end = 1.5;
  problem.scheme.gamma = static_cast<float>(exact::shear_gamma);
  set_subsonic(problem.scheme);
  problem.visit = [=, scheme = problem.scheme](const std::function<void(const Sample&)>& use) {
    visit_glass({}, high, spacing, [&](const Vector& at) {
      const exact::State layer = exact::shear_layer_at(at.y);
      Sample sample = sample_of(at, layer, spacing, scheme);
      sample.velocity = {layer.speed, exact::shear_wave_at(at.x), 0};
      use(sample);
    });
  };
  return problem;
}

exact::State square_at(const Vector& from_middle) {
  const bool is_inside = std::max(std::abs(from_middle.x), std::abs(from_middle.y)) < 0.25;
  return {is_inside ? 4.0 : 1.0, 0, 2.5};
}

Problem make_square(const ProblemOptions& options) {
  Problem problem;
  const double spacing = 1.0 / whole_glasses(options.resolution);
  const double width = thin_box_particles * spacing;
  problem.space = {.root = {{-0.5, -0.5, 0}, {0.5, 0.5, width}}, .periodic = {true, true, true}};
  problem.time_end = 2;
  problem.visit = [=, scheme = problem.scheme](const std::function<void(const Sample&)>& use) {
    visit_glass({-0.5, -0.5, 0}, {0.5, 0.5, width}, spacing, [&](const Vector& at) {
      use(sample_of(at, square_at(at), spacing, scheme));
    });
  };
  return problem;
}

Problem make_blob(const ProblemOptions& options) {
  Problem problem;
  const double spacing = 10.0 / whole_glasses(options.resolution);
  const Vector low{-5, -5, -5};
  const Vector high{25, 5, 5};
  problem.space = {.root = {low, high}, .periodic = {true, true, true}};
  problem.time_end = 2.5 * blob.growth_time();
  problem.visit = [=, scheme = problem.scheme](const std::function<void(const Sample&)>& use) {
    visit_glass(low, high, spacing, [&](const Vector& at) {
      const bool is_cloud = length(at) < 1;
      Sample sample = sample_of(at, {is_cloud ? blob.density_ratio : 1, 0, 1.0 / scheme.gamma}, spacing, scheme);
      sample.velocity = {is_cloud ? 0 : blob.mach, 0, 0};
      use(sample);
    });
  };
  return problem;
}

}  // namespace sph
