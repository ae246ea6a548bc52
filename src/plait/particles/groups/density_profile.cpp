// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/groups/density_profile.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

#include "plait/base/error.hpp"
#include "plait/comm/collectives/reduce.hpp"

namespace plait::particles {

namespace {

struct ShellSum {
  double mass = 0;
  std::uint64_t particles = 0;
  friend ShellSum operator+(const ShellSum& one, const ShellSum& other) {
    return {one.mass + other.mass, one.particles + other.particles};
  }
};

}  // namespace

double DensityProfile::density(std::size_t shell) const {
  expect(shell < mass.size(), "a profile has a shell between two radii");
  const auto volume = [](double radius) { return 4.0 / 3 * std::numbers::pi * radius * radius * radius; };
  return mass[shell] / (volume(radii[shell + 1]) - volume(radii[shell]));
}

DensityProfile measure_density_profile(comm::Endpoint& messages,
                                       const Particles& particles,
                                       const DensityProfileOptions& options) {
  const std::vector<double>& radii = options.radii;
  const bool ascend = std::ranges::adjacent_find(radii, [](double a, double b) { return !(a < b); }) == radii.end();
  if (radii.size() < 2 || !ascend || !(radii.front() >= 0)) {
    throw Error{ErrorCode::bad_argument, "a profile needs two or more radii that ascend and are not negative"};
  }
  std::vector<ShellSum> sums(radii.size() - 1);
  for (std::size_t i = 0; i < particles.size(); ++i) {
    const double distance = length(options.space.nearest(particles.positions()[i] - options.centre));
    if (distance >= radii.front() && distance < radii.back() && options.kinds.has(particles[Particles::kind][i])) {
      const auto above = std::ranges::upper_bound(radii, distance);
      ShellSum& sum = sums[static_cast<std::size_t>(above - radii.begin()) - 1];
      sum = sum + ShellSum{particles[options.mass][i], 1};
    }
  }
  const comm::Group group{messages};
  comm::all_reduce(group, std::span{sums}).wait();
  DensityProfile profile{.radii = radii, .mass = {}, .particles = {}};
  for (const ShellSum& sum : sums) {
    profile.mass.push_back(sum.mass);
    profile.particles.push_back(sum.particles);
  }
  return profile;
}

}  // namespace plait::particles
