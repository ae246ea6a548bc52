// SPDX-License-Identifier: Apache-2.0
#include "sph/known_answer.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <string_view>

#include "sph/exact/riemann.hpp"
#include "sph/exact/sedov.hpp"

namespace sph {

namespace {

constexpr double gamma_gas = 5.0 / 3;

/// Sums over shells around a point: of so many equal steps of radius, up to a largest one.
struct Shells {
  static constexpr std::size_t count = 400;
  double radius_max;

  /// Where the sums of the shell around `r` begin; `count` beyond the last.
  [[nodiscard]] std::size_t find(double r) const {
    return std::min(static_cast<std::size_t>(r / radius_max * count), count);
  }
  [[nodiscard]] double middle(std::size_t shell) const {
    return (static_cast<double>(shell) + 0.5) * radius_max / count;
  }
};

/// Mean densities over as few shells together as hold `particles_min`: pairs of radius and density, outwards.
struct Ring {
  double radius;
  double density;
};
std::vector<Ring> profile_of(const Shells& shells, std::span<const double> sums, double particles_min) {
  std::vector<Ring> rings;
  double particles = 0;
  double density = 0;
  double radius = 0;
  for (std::size_t shell = 0; shell < Shells::count; ++shell) {
    particles += sums[2 * shell];
    density += sums[2 * shell + 1];
    radius += sums[2 * shell] * shells.middle(shell);
    if (particles >= particles_min) {
      rings.push_back({radius / particles, density / particles});
      particles = density = radius = 0;
    }
  }
  return rings;
}

/// Where the profile, seen from outside, first comes to `density`.
double outer_radius_of(const std::vector<Ring>& rings, double density) {
  for (std::size_t k = rings.size(); k-- > 1;) {
    const Ring& outer = rings[k];
    const Ring& inner = rings[k - 1];
    if (inner.density >= density && outer.density < density) {
      return outer.radius + (inner.radius - outer.radius) * (density - outer.density) / (inner.density - outer.density);
    }
  }
  return 0;
}

exact::Riemann sod_flow() {
  return {{1, 0, 1}, {0.125, 0, 0.1}, gamma_gas};
}

/// The waves from the other tube's ends are not there yet.
constexpr double sod_part = 0.5;

std::vector<double> sod_sums(const Problem& problem, const Gas& gas, double time) {
  const exact::Riemann flow = sod_flow();
  std::vector<double> sums(4);
  for (std::size_t i = 0; i < gas.count; ++i) {
    const double x = gas.position[i].x - problem.origin.x;
    if (std::abs(x) < sod_part) {
      const exact::State exact = flow.at(x / time);
      const double volume = gas.mass[i] / static_cast<double>(gas.density[i]);
      sums[0] += volume * std::abs(static_cast<double>(gas.density[i]) - exact.density);
      sums[1] += volume * exact.density;
      sums[2] += volume * std::abs(gas.velocity_now[i].x - exact.speed);
      sums[3] += volume;
    }
  }
  return sums;
}

std::vector<double> gresho_sums(const Problem& problem, const Gas& gas, double /*time*/) {
  std::vector<double> sums(2);
  for (std::size_t i = 0; i < gas.count; ++i) {
    const Vector at = gas.position[i] - problem.origin;
    const double r = std::hypot(at.x, at.y);
    if (r < 0.5 && r > 0) {
      sums[0] += std::abs((at.x * gas.velocity_now[i].y - at.y * gas.velocity_now[i].x) / r - gresho_at(r).speed);
      sums[1] += 1;
    }
  }
  return sums;
}

/// Where the kinetic energy is: how far out, weighted by it.
std::vector<double> sedov_sums(const Problem& problem, const Gas& gas, double /*time*/) {
  std::vector<double> sums(2);
  for (std::size_t i = 0; i < gas.count; ++i) {
    const double energy = gas.mass[i] * dot(gas.velocity_now[i], gas.velocity_now[i]);
    sums[0] += energy * length(gas.position[i] - problem.origin);
    sums[1] += energy;
  }
  return sums;
}

const Shells noh_shells{0.4};
const Shells plummer_shells{8};

/// For each shell: particles, and the sum of their densities.
std::vector<double> noh_sums(const Problem& problem, const Gas& gas, double /*time*/) {
  std::vector<double> sums(2 * Shells::count);
  for (std::size_t i = 0; i < gas.count; ++i) {
    const std::size_t shell = noh_shells.find(length(gas.position[i] - problem.origin));
    if (shell < Shells::count) {
      sums[2 * shell] += 1;
      sums[2 * shell + 1] += gas.density[i];
    }
  }
  return sums;
}

/// The part of Plummer's sphere of problem "plummer" within `r`.
double plummer_part(double r) {
  const double scale = 3 * M_PI / 16;
  return std::pow(r * r / (r * r + scale * scale), 1.5) / 0.999;
}

std::vector<double> plummer_sums(const Problem& problem, const Gas& gas, double /*time*/) {
  std::vector<double> sums(Shells::count + 1);
  for (std::size_t i = 0; i < gas.count; ++i) {
    sums[plummer_shells.find(length(gas.position[i] - problem.origin))] += gas.mass[i];
  }
  return sums;
}

std::vector<Finding> judge_plummer(std::span<const double> sums, double /*time*/) {
  std::vector<Finding> findings;
  for (const double part : {0.1, 0.5, 0.9}) {
    double exact_low = 0;
    for (double r = 0; r < plummer_shells.radius_max; r += 1e-4) {
      exact_low = plummer_part(r) < part ? r : exact_low;
    }
    double within = 0;
    std::size_t shell = 0;
    while (shell < Shells::count && within + sums[shell] < part) {
      within += sums[shell++];
    }
    const double step = plummer_shells.radius_max / Shells::count;
    const double radius = step * (static_cast<double>(shell) + (part - within) / std::max(sums[shell], 1e-30));
    findings.push_back({"radius that holds " + std::to_string(static_cast<int>(100 * part)) + " % of the mass",
                        std::abs(radius - exact_low) / exact_low,
                        0.03});
  }
  return findings;
}

/// From the first star to the second, at a time after they were farthest apart (Kepler's equation).
Vector two_bodies_apart(double time) {
  const double e = 0.5;
  const double mean = time + M_PI;
  double angle = mean;
  for (int i = 0; i < 50; ++i) {
    angle -= (angle - e * std::sin(angle) - mean) / (1 - e * std::cos(angle));
  }
  return {std::cos(angle) - e, std::sqrt(1 - e * e) * std::sin(angle), 0};
}

std::vector<double> body_sums(const Problem& /*problem*/, const Gas& gas, double /*time*/) {
  std::vector<double> sums(6);
  for (std::size_t i = 0; i < gas.count; ++i) {
    const std::size_t body = gas.id[i] == 1 ? 0 : 3;
    sums[body] += gas.position[i].x;
    sums[body + 1] += gas.position[i].y;
    sums[body + 2] += gas.position[i].z;
  }
  return sums;
}

std::vector<double> ring_sums(const Problem& problem, const Gas& gas, double time) {
  double bodies = -1;  // without the one in the centre
  problem.visit([&](const Sample&) { bodies += 1; });
  std::vector<double> sums(2);
  for (std::size_t i = 0; i < gas.count; ++i) {
    if (gas.id[i] > 1) {
      const double phi = 2 * M_PI * static_cast<double>(gas.id[i] - 2) / bodies + time;
      sums[0] += length(gas.position[i] - problem.origin - Vector{std::cos(phi), std::sin(phi), 0});
      sums[1] += 1;
    }
  }
  return sums;
}

std::vector<Finding> judge_sedov(std::span<const double> sums, double time) {
  const exact::Sedov blast{1, 1, gamma_gas};
  const double radius = blast.shock_radius(time);
  // Smoothing flattens the thin shell of dense gas, but hardly moves where its energy of motion is.
  const double measured = sums[0] / std::max(sums[1], 1e-30) / blast.kinetic_radius();
  return {{"radius of the shock", std::abs(measured - radius) / radius, 0.02}};
}

std::vector<Finding> judge_noh(std::span<const double> sums, double time) {
  const double radius = time / 3;
  const std::vector<Ring> rings = profile_of(noh_shells, sums, 20);
  double density = 0;
  double count = 0;
  for (const Ring& ring : rings) {
    if (ring.radius > 0.4 * radius && ring.radius < 0.8 * radius) {
      density += ring.density;
      count += 1;
    }
  }
  density /= std::max(count, 1.0);
  const double ahead = std::pow(1 + time / radius, 2);
  const double measured = outer_radius_of(rings, (64 + ahead) / 2);
  return {{"density behind the shock", std::abs(density - 64) / 64, 0.1},
          {"radius of the shock", std::abs(measured - radius) / radius, 0.05}};
}

std::vector<Finding> judge_sod(std::span<const double> sums, double /*time*/) {
  return {{"L1 error of the density", sums[0] / sums[1], 0.03}, {"L1 error of the speed", sums[2] / sums[3], 0.05}};
}

std::vector<Finding> judge_gresho(std::span<const double> sums, double /*time*/) {
  return {{"L1 error of the speed around the axis", sums[0] / sums[1], 0.1}};
}

std::vector<Finding> judge_ring(std::span<const double> sums, double /*time*/) {
  return {{"distance from where each body should be", sums[0] / sums[1], 1e-3}};
}

std::vector<Finding> judge_two_bodies(std::span<const double> sums, double time) {
  const Vector apart{sums[3] - sums[0], sums[4] - sums[1], sums[5] - sums[2]};
  return {{"distance from where the bodies should be", length(apart - two_bodies_apart(time)), 1e-3}};
}

/// What is measured of each kind of problem.
struct Answer {
  std::string_view name;
  std::vector<double> (*sum)(const Problem& problem, const Gas& gas, double time);
  std::vector<Finding> (*judge)(std::span<const double> sums, double time);
};
constexpr Answer answers[] = {
    {"sod", sod_sums, judge_sod},
    {"sedov", sedov_sums, judge_sedov},
    {"gresho", gresho_sums, judge_gresho},
    {"noh", noh_sums, judge_noh},
    {"plummer", plummer_sums, judge_plummer},
    {"kepler-ring", ring_sums, judge_ring},
    {"two-bodies", body_sums, judge_two_bodies},
};

const Answer* answer_of(const Problem& problem) {
  const auto* const found = std::ranges::find(answers, problem.name, &Answer::name);
  return found == std::end(answers) ? nullptr : found;
}

}  // namespace

std::vector<double> answer_sums(const Problem& problem, const Gas& gas, double time) {
  const Answer* const answer = answer_of(problem);
  return answer == nullptr ? std::vector<double>{} : answer->sum(problem, gas, time);
}

std::vector<Finding> judge(const Problem& problem, std::span<const double> sums, double time) {
  const Answer* const answer = answer_of(problem);
  return answer == nullptr ? std::vector<Finding>{} : answer->judge(sums, time);
}

std::vector<Finding> judge_totals(const Problem& problem, const Totals& begin, const Totals& now) {
  // Falling cold gas has no energy of its own to compare with but what moves.
  const double energy = std::max(std::abs(begin.energy()), begin.kept.kinetic);
  const double limit = problem.name == "evrard" ? 0.02 : 0.01;
  // Steps of their own, and trees, do not let two particles push each other alike.
  const double momentum = length(now.kept.momentum - begin.kept.momentum) / std::max(now.speed_sum, 1e-30);
  return {{"energy", std::abs(now.energy() - begin.energy()) / std::max(energy, 1e-30), limit},
          {"momentum", momentum, 1e-2}};
}

}  // namespace sph
