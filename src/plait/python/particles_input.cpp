// SPDX-License-Identifier: Apache-2.0
#include "plait/python/particles_input.hpp"

#include <numeric>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/comm/collectives/all_gather.hpp"

namespace plait::python {

void add_particles(particles::Particles& store, std::span<const double> positions, Rank rank) {
  const std::size_t count = positions.size() / 3;
  store.add(count);
  for (std::size_t i = 0; i < count; ++i) {
    const particles::Vector place{positions[3 * i], positions[3 * i + 1], positions[3 * i + 2]};
    if (!particles::is_finite(place)) {
      throw Error{
          ErrorCode::bad_argument,
          fmt::format(
              "positions[{}] on rank {} is not finite: ({}, {}, {})", i, rank.value(), place.x, place.y, place.z)};
    }
    store.positions()[i] = place;
    store.ids()[i] = InputPlace{rank.value(), static_cast<std::uint32_t>(i)}.id();
  }
}

std::vector<std::uint64_t> first_numbers(const comm::Group& group, std::uint64_t count) {
  std::vector<std::uint64_t> numbers(group.size());
  const std::uint64_t mine = count;
  comm::all_gather(group, std::span{&mine, 1}, std::span{numbers}).wait();
  std::exclusive_scan(numbers.begin(), numbers.end(), numbers.begin(), std::uint64_t{0});
  return numbers;
}

}  // namespace plait::python
