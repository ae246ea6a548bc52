// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/comm/endpoint.hpp"
#include "plait/particles/neighbours/cells.hpp"
#include "plait/particles/store/particles.hpp"

namespace plait::particles {

/// The cells that this rank and one other need of each other. Both list the same cells in the same order.
struct HaloPeer {
  Rank rank;
  std::vector<std::uint32_t> mine;           ///< Own cells that the other has copies of.
  std::vector<std::uint32_t> theirs;         ///< Ghosts, by their numbers here,
  std::vector<std::uint32_t> their_numbers;  ///< and by those that their owner gives them.
};

/// Pairs of cells are near if they are nearer than `reach * growth + skin`: a margin for movement and growth while a
/// halo is kept for several steps.
struct Nearness {
  double growth = 1;
  double skin = 0;
};

/// Ghosts, copies of other ranks' cells that are near to own ones, and the ranks with copies of own cells.
struct Halo {
  std::vector<HaloPeer> peers;  ///< By rank; those that have something for each other.
};

/// The fields of ghosts.
struct HaloFields {
  Field<float> reach;
  double reach_factor = 1;
  std::vector<AnyField> travel;  ///< Position and reach among them.
};

/// Finds the halo of `table`, whose own cells are refreshed: adds ghosts, and lists the neighbours of cells.
///
/// All ranks call it. Waits, making progress; throws as `Endpoint::progress_until`. Cost: 64 bytes of each rank to all,
/// then one message of cells and one of particles to each rank that is near.
[[nodiscard]] Halo make_halo(comm::Endpoint& endpoint,
                             CellTable& table,
                             const Nearness& near,
                             const HaloFields& fields);

}  // namespace plait::particles
