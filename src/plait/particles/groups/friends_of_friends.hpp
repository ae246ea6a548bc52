// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plait/comm/endpoint.hpp"
#include "plait/particles/groups/moments.hpp"
#include "plait/particles/store/kinds.hpp"
#include "plait/particles/store/particles.hpp"
#include "plait/particles/store/space.hpp"
#include "plait/task/scheduler.hpp"

namespace plait::particles {

/// Which particles form groups.
struct FriendsOptions {
  Field<double> mass;
  std::optional<Field<Vector>> velocity;  ///< For the groups' velocities.
  Space space;
  double linking_length = 0;       ///< Particles at most this far apart are in one group. Positive.
  std::uint64_t members_min = 20;  ///< Smaller groups are none.
  Kinds kinds;                     ///< Others are in no group.
};

/// The moments of a group; its id is the smallest of its particles. In periodic spaces it is smaller than half of the
/// space along each axis.
using FriendGroup = LabelledMoments;

/// The groups of all ranks.
struct FriendGroups {
  static constexpr std::uint64_t none = no_label;

  /// Each group is on one rank, which need not have particles of it; the heaviest of a rank first.
  std::vector<FriendGroup> groups;
  /// The id of the group of each particle, in the order of the store; `none` where it is in none.
  std::vector<std::uint64_t> of_particle;
};

/// Finds groups by friends of friends: two particles are in one group if a chain of particles joins them, each at most
/// a linking length from the next (Davis, Efstathiou, Frenk, White, Astrophys. J. 292, 1985).
///
/// Does not change the order of `particles`, whose ids are unique over all ranks. No rank gets the particles of others,
/// but copies near its own. The result does not depend on ranks, except for rounding of sums.
/// Collective. Throws: `Error` with `bad_argument` for a linking length that is not positive or, along a periodic axis,
/// above half of the space. Memory: a copy of position, mass and velocity, and the list of friends of each particle.
/// Cost: a search of neighbours, and a round of messages to all ranks for each time that a chain enters another rank.
[[nodiscard]] FriendGroups friends_of_friends(comm::Endpoint& messages,
                                              task::Scheduler& scheduler,
                                              const Particles& particles,
                                              const FriendsOptions& options);

}  // namespace plait::particles
