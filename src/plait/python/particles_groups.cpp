// SPDX-License-Identifier: Apache-2.0
#include "plait/python/particles_groups.hpp"

#include <algorithm>
#include <cstddef>

#include "plait/python/particles_input.hpp"

namespace plait::python {

Bodies::Bodies(Rank self, const BodyArrays& given) : mass{store.add_field<double>("mass")} {
  if (!given.velocities.empty()) {
    velocity = store.add_field<particles::Vector>("velocity");
  }
  add_particles(store, given.positions, self);
  std::ranges::copy(given.masses, store[mass].begin());
  for (std::size_t i = 0; velocity && i < store.size(); ++i) {
    store[*velocity][i] = {given.velocities[3 * i], given.velocities[3 * i + 1], given.velocities[3 * i + 2]};
  }
}

GroupsFound find_groups(Runtime& runtime,
                        const comm::Group& group,
                        const BodyArrays& given,
                        particles::FriendsOptions options) {
  const Bodies bodies{runtime.self(), given};
  options.mass = bodies.mass;
  options.velocity = bodies.velocity;
  particles::FriendGroups found =
      particles::friends_of_friends(runtime.messages(), runtime.scheduler(), bodies.store, options);
  const std::vector<std::uint64_t> firsts = first_numbers(group, bodies.store.size());
  const auto number_of = [&](std::uint64_t id) {
    const InputPlace origin = InputPlace::of(id);
    return static_cast<std::int64_t>(firsts[origin.rank] + origin.place);
  };
  GroupsFound numbered{std::move(found.groups), {}};
  for (particles::LabelledMoments& moments : numbered.groups) {
    moments.id = static_cast<std::uint64_t>(number_of(moments.id));
  }
  for (const std::uint64_t id : found.of_particle) {
    numbered.of_particle.push_back(id == particles::no_label ? -1 : number_of(id));
  }
  return numbered;
}

}  // namespace plait::python
