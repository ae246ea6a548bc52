// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/trees/detail/options_of_parts.hpp"

#include <vector>

namespace plait::particles::detail {
namespace {

/// Velocities, then the reach of particles, are the last fields that travel.
std::vector<AnyField> travels_of(const LongRangeOptions& options) {
  std::vector<AnyField> travels = options.travels;
  if (options.velocity) {
    travels.emplace_back(*options.velocity);
  }
  if (options.near_reach) {
    travels.emplace_back(*options.near_reach);
  }
  return travels;
}

}  // namespace

TreeOptions tree_options_of(const LongRangeOptions& options) {
  return {.charge = options.charge,
          .sources = options.sources,
          .theta = options.theta,
          .order = options.order,
          .signs = options.signs,
          .moments = options.moments,
          .near_radius = options.near_radius,
          .near_reach = options.near_reach,
          .near_search = options.near_search,
          .cutoff = options.cutoff,
          .travels = travels_of(options),
          .velocity = options.velocity};
}

WalkOptions walk_options_of(const LongRangeOptions& options) {
  return {.precision = options.precision,
          .softening = options.softening,
          .coupling = options.coupling,
          .near = options.near,
          .kernel = options.kernel,
          .kernels = options.kernels};
}

}  // namespace plait::particles::detail
