// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plait/comm/claimed_comms.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/particles/domains/decompose.hpp"
#include "plait/particles/domains/domain.hpp"
#include "plait/particles/domains/exchange.hpp"
#include "plait/particles/interaction.hpp"
#include "plait/particles/store/particles.hpp"
#include "plait/particles/store/space.hpp"
#include "plait/task/scheduler.hpp"

namespace plait::particles::detail {

/// The parts of a system that drive its steps in either way: with trees over all particles, or with cells.
struct DriverPlace {
  comm::Endpoint& messages;
  task::Scheduler& scheduler;
  Particles& store;
  const Space& space;
  Decomposition& decomposition;
  Domain& domain;
  ParticleExchange& exchange;
};

/// A function of a step, for ranges of particles.
struct Hook {
  std::string kind;
  std::function<void(Particles& store, std::size_t first, std::size_t last)> function;
  bool is_of_integrator = false;
};

/// The program's functions of a step, in their order.
struct Hooks {
  std::vector<Hook> before;
  std::vector<Hook> after;
  std::vector<std::function<void()>> when_summed;
};

struct SystemInteraction {
  std::unique_ptr<Interaction> sum;
  comm::ClaimedComms comm;     ///< One.
  bool sums_in_cells = false;  ///< Also with individual steps and stages.
};

}  // namespace plait::particles::detail
