// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/comm/endpoint.hpp"
#include "plait/particles/cells.hpp"
#include "plait/particles/particles.hpp"

namespace plait::particles {

/// What this rank and one other need of each other. Both list the same cells in the same order.
struct HaloPeer {
  Rank rank;
  std::vector<std::uint32_t> mine;           ///< Own cells that the other has copies of.
  std::vector<std::uint32_t> theirs;         ///< Ghosts, by their numbers here,
  std::vector<std::uint32_t> their_numbers;  ///< and by those that their owner gives them.
};

/// Which pairs of cells count as near: nearer than `reach * growth + skin`. Who keeps a halo for some steps leaves room
/// for what moves and grows meanwhile.
struct Nearness {
  double growth = 1;
  double skin = 0;
};

/// Copies of other ranks' cells that are near to own ones, and who has copies of those here.
struct Halo {
  std::vector<HaloPeer> peers;  ///< By rank; those that have something for each other.

  [[nodiscard]] std::size_t ghost_count() const noexcept;
};

/// What makes ghosts.
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
