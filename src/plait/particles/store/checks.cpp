// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/store/checks.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait::particles {

void refuse_position(const Vector& position, std::uint64_t id) {
  throw Error{ErrorCode::bad_input,
              fmt::format("particle {} is at ({}, {}, {}), which is not finite: check for a division by zero, for too "
                          "long a time step, and the input file",
                          id,
                          position.x,
                          position.y,
                          position.z)};
}

void refuse_equal_ids(std::span<const std::uint64_t> ids, const std::string& source) {
  std::vector<std::uint64_t> sorted{ids.begin(), ids.end()};
  std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice != sorted.end()) {
    throw Error{ErrorCode::bad_input, fmt::format("{}: id {} occurs twice", source, *twice)};
  }
}

void refuse_equal_places(const Particles& particles, const std::string& source) {
  const auto positions = particles.positions();
  std::vector<Particles::Index> sorted(particles.size());
  std::iota(sorted.begin(), sorted.end(), Particles::Index{0});
  const auto place = [&positions](Particles::Index i) {
    return std::tuple{positions[i].x, positions[i].y, positions[i].z};
  };
  std::ranges::sort(sorted, {}, place);
  const auto twin = std::ranges::adjacent_find(sorted, {}, place);
  if (twin != sorted.end()) {
    const Vector& p = positions[*twin];
    throw Error{ErrorCode::bad_input,
                fmt::format("{}: particles {} and {} are at the same place ({}, {}, {}): move or merge them",
                            source,
                            particles.ids()[*twin],
                            particles.ids()[*std::next(twin)],
                            p.x,
                            p.y,
                            p.z)};
  }
}

}  // namespace plait::particles
