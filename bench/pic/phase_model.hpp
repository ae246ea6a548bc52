// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "plait/data/balance/problem.hpp"
#include "plait/net/sim/sim.hpp"

namespace bench {

/// Plays one phase of patches on a modelled network. Every rank executes its patches one after the other, each for the
/// time of its load, and then sends along the patch's edges. A rank polls between two patches, and when it has none
/// left.
///
/// Returns the seconds until the last rank has executed its patches and received all messages. Deterministic. Cost:
/// about a microsecond a packet.
[[nodiscard]] double modelled_phase(const plait::data::balance::Problem& problem,
                                    const plait::data::balance::Placement& placement,
                                    const plait::net::LogGP& network);

}  // namespace bench
