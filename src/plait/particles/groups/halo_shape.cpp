// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/groups/halo_shape.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <unordered_map>

#include "plait/base/error.hpp"
#include "plait/comm/collectives/group.hpp"
#include "plait/particles/groups/detail/moment_sums.hpp"
#include "plait/particles/groups/detail/rows_for_ranks.hpp"

namespace plait::particles {

namespace {

/// A member, on its way to the rank of its selection.
struct Member {
  std::uint64_t label = 0;
  Vector place;
  double mass = 0;
};

struct MassAtDistance {
  double distance = 0;
  double mass = 0;
};

/// Sorts `members`. 0 without any.
double half_mass_radius(std::vector<MassAtDistance>& members, double mass) {
  std::ranges::sort(members, {}, &MassAtDistance::distance);
  double within = 0;
  for (const MassAtDistance& member : members) {
    within += member.mass;
    if (within >= mass / 2) {
      return member.distance;
    }
  }
  return 0;
}

}  // namespace

AxisRatios axis_ratios(const SelectionMoments& moments) {
  const auto squares = principal_axes(moments.extent).values;
  if (!(squares[0] > 0)) {
    return {};
  }
  const auto ratio = [&](double square) { return std::sqrt(std::max(square, 0.0) / squares[0]); };
  return {.intermediate = ratio(squares[1]), .shortest = ratio(squares[2])};
}

double spin_parameter(const SelectionMoments& moments, double radius, double constant) {
  expect(radius > 0 && moments.mass > 0, "a spin parameter needs a mass within a radius");
  const double velocity = std::sqrt(constant * moments.mass / radius);
  return length(moments.angular_momentum) / (std::numbers::sqrt2 * moments.mass * velocity * radius);
}

std::vector<double> half_mass_radii(comm::Endpoint& messages,
                                    const Particles& particles,
                                    const MomentsOptions& options,
                                    std::span<const std::uint64_t> labels,
                                    std::span<const LabelledMoments> selections) {
  detail::check_labels(messages, particles, labels);
  const comm::Group group{messages};
  std::vector<std::vector<Member>> to(group.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] != no_label) {
      to[detail::collector_of(labels[i], group.size())].push_back(
          {labels[i], particles.positions()[i], particles[options.mass][i]});
    }
  }
  std::unordered_map<std::uint64_t, std::size_t> rows;
  for (std::size_t row = 0; row < selections.size(); ++row) {
    rows.emplace(selections[row].id, row);
  }
  std::vector<std::vector<MassAtDistance>> members(selections.size());
  for (const std::vector<Member>& of_rank : detail::exchange_rows(group, to)) {
    for (const Member& member : of_rank) {
      if (const auto found = rows.find(member.label); found != rows.end()) {
        const Vector& centre = selections[found->second].centre;
        members[found->second].push_back({length(options.space.nearest(member.place - centre)), member.mass});
      }
    }
  }
  std::vector<double> radii;
  for (std::size_t row = 0; row < selections.size(); ++row) {
    radii.push_back(half_mass_radius(members[row], selections[row].mass));
  }
  return radii;
}

}  // namespace plait::particles
