// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "plait/data/balance/problem.hpp"
#include "plait/net/sim/sim.hpp"

namespace bench {

/// One phase of patches, played on a modelled network: every rank works through its patches one after the other, each
/// for as long as its load says, and when one has ended sends what the edges say to the patches beside it. A rank looks
/// at the network between two patches, and when it has none left.
///
/// Returns the seconds until the last rank has done its work and has everything. Deterministic. Cost: about a
/// microsecond a packet.
[[nodiscard]] double modelled_phase(const plait::data::balance::Problem& problem,
                                    const plait::data::balance::Placement& placement,
                                    const plait::net::LogGP& network);

}  // namespace bench
