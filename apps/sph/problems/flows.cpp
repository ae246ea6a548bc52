// SPDX-License-Identifier: Apache-2.0
// Problems of gas alone.
#include <algorithm>
#include <cmath>

#include "sph/problem.hpp"
#include "sph/problems/glass/fill.hpp"

namespace sph {

Problem make_sod(const ProblemOptions& options) {
  Problem problem;
  const double thin = 1.0 / whole_glasses(options.resolution);  // spacing on the right; half of it on the left
  const double width = thin_box_particles * thin;
  problem.space.root = {{-1, 0, 0}, {1, width, width}};
  problem.space.periodic = {true, true, true};  // a mirrored tube begins at x = -1 and 1
  problem.time_end = 0.2;
  problem.visit = [=, eta = problem.scheme.eta](const std::function<void(const Sample&)>& use) {
    const auto side = [&](double from, double density, double pressure, double spacing) {
      visit_glass({from, 0, 0}, {from + 1, width, width}, spacing, [&](const Vector& at) {
        use({.position = at,
             .mass = density * spacing * spacing * spacing,
             .energy = pressure / (density * 2 / 3),
             .smoothing = eta * spacing});
      });
    };
    side(-1, 1, 1, thin / 2);
    side(0, 0.125, 0.1, thin);
  };
  return problem;
}

Problem make_sedov(const ProblemOptions& options) {
  Problem problem;
  problem.space.root = {{-0.5, -0.5, -0.5}, {0.5, 0.5, 0.5}};
  problem.space.periodic = {true, true, true};
  problem.time_end = 0.05;
  const double spacing = 1.0 / whole_glasses(options.resolution);
  problem.visit = [=, eta = problem.scheme.eta](const std::function<void(const Sample&)>& use) {
    // The energy of 1 is spread over few particles around the origin, as a smoothing kernel would.
    const double radius = 2.5 * spacing;
    const auto weight = [&](const Vector& at) { return kernel_at(KernelKind::cubic_spline, length(at) / radius).w; };
    double weights = 0;
    visit_glass({-0.5, -0.5, -0.5}, {0.5, 0.5, 0.5}, spacing, [&](const Vector& at) { weights += weight(at); });
    const double mass = spacing * spacing * spacing;
    visit_glass({-0.5, -0.5, -0.5}, {0.5, 0.5, 0.5}, spacing, [&](const Vector& at) {
      use({.position = at,
           .mass = mass,
           .energy = 1e-6 * 1.5 + weight(at) / (weights * mass),
           .smoothing = eta * spacing});
    });
  };
  return problem;
}

Vortex gresho_at(double r) {
  if (r < 0.2) {
    return {5 * r, 5 + 12.5 * r * r};
  }
  if (r < 0.4) {
    return {2 - 5 * r, 9 + 12.5 * r * r - 20 * r + 4 * std::log(5 * r)};
  }
  return {0, 3 + 4 * std::log(2.0)};
}

Problem make_gresho(const ProblemOptions& options) {
  Problem problem;
  const double spacing = 1.0 / whole_glasses(options.resolution);
  const double width = thin_box_particles * spacing;
  problem.space.root = {{-0.5, -0.5, 0}, {0.5, 0.5, width}};
  problem.space.periodic = {true, true, true};
  problem.time_end = 1;
  set_subsonic(problem.scheme);
  problem.visit = [=, eta = problem.scheme.eta](const std::function<void(const Sample&)>& use) {
    visit_glass({-0.5, -0.5, 0}, {0.5, 0.5, width}, spacing, [&](const Vector& at) {
      const double r = std::hypot(at.x, at.y);
      const Vortex vortex = gresho_at(r);
      use({.position = at,
           .velocity = vortex.speed / std::max(r, 1e-9) * Vector{-at.y, at.x, 0},
           .mass = spacing * spacing * spacing,
           .energy = vortex.pressure * 1.5,
           .smoothing = eta * spacing});
    });
  };
  return problem;
}

Problem make_noh(const ProblemOptions& options) {
  Problem problem;
  problem.space.root = {{-1, -1, -1}, {1, 1, 1}};
  problem.time_end = 0.6;
  const double spacing = 2.0 / whole_glasses(options.resolution);
  problem.visit = [=, eta = problem.scheme.eta](const std::function<void(const Sample&)>& use) {
    visit_glass({-1, -1, -1}, {1, 1, 1}, spacing, [&](const Vector& at) {
      use({.position = at,
           .velocity = -1 / std::max(length(at), 1e-9) * at,
           .mass = spacing * spacing * spacing,
           .energy = 1e-6,
           .smoothing = eta * spacing});
    });
  };
  return problem;
}

Problem make_evrard(const ProblemOptions& options) {
  Problem problem;
  problem.space.root = {{-1, -1, -1}, {1, 1, 1}};
  problem.time_end = 0.8;
  const double spacing = 2.0 / whole_glasses(options.resolution);
  problem.scheme.gravity = {.constant = 1, .softening = 0.2 * spacing};
  problem.visit = [=, eta = problem.scheme.eta](const std::function<void(const Sample&)>& use) {
    double count = 0;
    const auto visit = [&](const auto& take) {
      visit_glass({-1, -1, -1}, {1, 1, 1}, spacing, [&](const Vector& at) {
        if (length(at) < 1) {
          take(at);
        }
      });
    };
    visit([&](const Vector&) { count += 1; });
    // An even sphere holds r^3 of the mass within r, a density of 1 / (2 pi r) as much as r^2.
    visit([&](const Vector& at) {
      const Vector place = std::sqrt(length(at)) * at;
      const double density = 1 / (2 * M_PI * length(place));
      use({.position = place, .mass = 1 / count, .energy = 0.05, .smoothing = eta * std::cbrt(1 / (count * density))});
    });
  };
  return problem;
}

}  // namespace sph
