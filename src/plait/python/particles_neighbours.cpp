// SPDX-License-Identifier: Apache-2.0
#include "plait/python/particles_neighbours.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/data/collections/engine/all_ranks.hpp"
#include "plait/particles/steps/system.hpp"
#include "plait/python/particles_input.hpp"

namespace plait::python {

using particles::Field;
using particles::Particles;
using particles::Space;
using particles::Vector;

namespace {

void append(Bytes& message, std::span<const std::int64_t> numbers) {
  const auto bytes = std::as_bytes(numbers);
  message.insert(message.end(), bytes.begin(), bytes.end());
}

/// The points of this rank's part of space, and the index of each among those of all ranks.
struct Points {
  Particles store;
  Field<double> radius = store.add_field<double>("radius");
  Field<std::int64_t> index = store.add_field<std::int64_t>("index");
};

/// Sends each list to where its point came from: the point's place there, the length, the list.
std::vector<Bytes> send_back(const comm::Group& group, const Points& points, const particles::NeighbourLists& lists) {
  std::vector<Bytes> back(group.size());
  std::vector<std::int64_t> list;
  for (std::size_t i = 0; i < points.store.size(); ++i) {
    const InputPlace origin = InputPlace::of(points.store.ids()[i]);
    list.clear();
    for (const Particles::Index neighbour : lists.neighbours(i)) {
      list.push_back(lists.value(points.index, neighbour));
    }
    append(back[origin.rank], std::array{std::int64_t{origin.place}, static_cast<std::int64_t>(list.size())});
    append(back[origin.rank], list);
  }
  return data::detail::exchange_any(group, back);
}

std::span<const std::int64_t> numbers_in(const Bytes& message) {
  return {reinterpret_cast<const std::int64_t*>(message.data()), message.size() / sizeof(std::int64_t)};
}

/// Calls `use(place, list)` for each list in `messages`.
template <class Use>
void for_each_list(const std::vector<Bytes>& messages, const Use& use) {
  for (const Bytes& message : messages) {
    std::span<const std::int64_t> rest = numbers_in(message);
    while (!rest.empty()) {
      const auto length = static_cast<std::size_t>(rest[1]);
      use(static_cast<std::size_t>(rest[0]), rest.subspan(2, length));
      rest = rest.subspan(2 + length);
    }
  }
}

void check(std::span<const double> radii, const Space& space, Rank self) {
  space.check();
  const Vector period = space.period();
  for (std::size_t i = 0; i < radii.size(); ++i) {
    const bool fits = std::ranges::all_of(std::array{period.x, period.y, period.z},
                                          [&](double length) { return length == 0 || radii[i] < length / 2; });
    if (!(radii[i] >= 0) || !std::isfinite(radii[i]) || !fits) {
      throw Error{
          ErrorCode::bad_argument,
          fmt::format("radius[{}] on rank {} is {}: it must be finite, not negative, and less than half of each "
                      "periodic edge of the box",
                      i,
                      self.value(),
                      radii[i])};
    }
  }
}

}  // namespace

NeighbourRows find_neighbours(Runtime& runtime,
                              const comm::Group& group,
                              std::span<const double> positions,
                              const NeighbourSettings& settings) {
  const std::span<const double> radii = settings.radii;
  check(radii, settings.space, runtime.self());
  const std::uint64_t number = first_numbers(group, radii.size())[group.self()];
  Points points;
  add_particles(points.store, positions, runtime.self());
  std::ranges::copy(radii, points.store[points.radius].begin());
  std::iota(points.store[points.index].begin(), points.store[points.index].end(), static_cast<std::int64_t>(number));
  particles::System system{runtime.messages(), runtime.scheduler(), points.store, {.space = settings.space}};
  const particles::NeighbourLists& near =
      system.add_neighbour_lists({.search = settings.search, .radius = points.radius, .travels = {points.index}});
  system.update();

  const std::vector<Bytes> lists = send_back(group, points, near);
  NeighbourRows found{std::vector<std::int64_t>(radii.size() + 1), {}};
  for_each_list(
      lists, [&](std::size_t place, auto list) { found.offsets[place + 1] = static_cast<std::int64_t>(list.size()); });
  std::partial_sum(found.offsets.begin(), found.offsets.end(), found.offsets.begin());
  found.indices.resize(static_cast<std::size_t>(found.offsets.back()));
  for_each_list(lists, [&](std::size_t place, auto list) {
    const auto first = found.indices.begin() + found.offsets[place];
    std::ranges::copy(list, first);
    std::sort(first, first + static_cast<std::ptrdiff_t>(list.size()));
  });
  return found;
}

}  // namespace plait::python
