// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "plait/net/sim/sim.hpp"

namespace plait::net::test {

/// Moves the clocks of all networks to the next event of any. False when there is none.
inline bool advance_together(const std::vector<std::unique_ptr<SimNetwork>>& networks) {
  std::optional<nanoseconds> next;
  for (const auto& network : networks) {
    const std::optional<nanoseconds> event = network->next_event();
    next = event && (!next || *event < *next) ? event : next;
  }
  for (const auto& network : networks) {
    network->advance_to(next.value_or(network->clock().now()));
  }
  return next.has_value();
}

}  // namespace plait::net::test
