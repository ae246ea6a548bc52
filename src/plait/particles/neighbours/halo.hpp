// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plait/comm/endpoint.hpp"
#include "plait/particles/domains/domain.hpp"
#include "plait/particles/neighbours/cells.hpp"
#include "plait/particles/store/particles.hpp"

namespace plait::particles {

/// The cells that this rank and another one exchange. Both list them in the same order.
struct HaloPeer {
  Rank rank;
  std::vector<std::uint32_t> mine;           ///< Own cells, of which the other rank has copies.
  std::vector<std::uint32_t> theirs;         ///< Ghosts, by their numbers here,
  std::vector<std::uint32_t> their_numbers;  ///< and by their numbers on the other rank.
};

/// Cells are near if their distance is at most `reach * growth + skin`: a margin for motion and growth while a halo is
/// reused.
struct Nearness {
  double growth = 1;
  double skin = 0;
};

/// The ranks that exchange cells with this one.
struct Halo {
  std::vector<HaloPeer> peers;  ///< By rank.
};

/// The fields of ghosts.
struct HaloFields {
  Field<float> reach;
  double reach_factor = 1;
  std::vector<AnyField> travel;  ///< Position and reach among them.
};

/// Finds the ghosts of `table`, adds them to it, and lists neighbours. Expects: own cells are refreshed.
///
/// Collective; waits and makes progress. `grid` has the domains of the ranks, if they are not those of `cubic_grid`:
/// the result does not depend on it. Throws: as `Endpoint::progress_until`. Cost: a `SummaryExchange`, then a message
/// of cells and one of particles to each near rank.
[[nodiscard]] Halo make_halo(comm::Endpoint& endpoint,
                             CellTable& table,
                             const Nearness& near,
                             const HaloFields& fields,
                             const std::optional<DomainGrid>& grid = {});

}  // namespace plait::particles
