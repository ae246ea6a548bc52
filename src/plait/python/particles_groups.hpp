// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plait/particles/groups/density_profile.hpp"
#include "plait/particles/groups/friends_of_friends.hpp"
#include "plait/particles/groups/moments.hpp"
#include "plait/particles/store/particles.hpp"
#include "plait/python/particles_input.hpp"
#include "plait/runtime/runtime.hpp"

namespace plait::python {

/// Bodies of a Python program. `velocities` may be empty.
struct BodyArrays {
  std::span<const double> positions;
  std::span<const double> masses;
  std::span<const double> velocities;
};

/// A store of copies of them, in their order.
struct Bodies {
  /// Throws: as `add_particles`.
  Bodies(Rank self, const BodyArrays& given);

  particles::Particles store;
  particles::Field<double> mass;
  std::optional<particles::Field<particles::Vector>> velocity;
};

/// Groups of friends; ids and labels are numbers of particles among those of all ranks, in the order of ranks.
struct GroupsFound {
  std::vector<particles::LabelledMoments> groups;  ///< Of this rank.
  std::vector<std::int64_t> of_particle;           ///< -1: in none.
};

/// Collective. Throws: as `particles::friends_of_friends`.
[[nodiscard]] GroupsFound find_groups(Runtime& runtime,
                                      const comm::Group& group,
                                      const BodyArrays& given,
                                      particles::FriendsOptions options);

}  // namespace plait::python
