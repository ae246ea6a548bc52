// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/morton.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait::particles {
namespace {

constexpr double cells_per_edge = 1 << morton_levels;

/// Moves bit i of the lowest 21 to bit 3 i.
constexpr std::uint64_t spread(std::uint64_t bits) {
  bits = (bits | bits << 32) & 0x001f00000000ffff;
  bits = (bits | bits << 16) & 0x001f0000ff0000ff;
  bits = (bits | bits << 8) & 0x100f00f00f00f00f;
  bits = (bits | bits << 4) & 0x10c30c30c30c30c3;
  return (bits | bits << 2) & 0x1249249249249249;
}
static_assert(spread(0b101) == 0b1000001 && spread(0x1fffff) == 0x1249249249249249);

std::uint64_t cell_of(double length, double cells_per_length) {
  return static_cast<std::uint64_t>(std::clamp(length * cells_per_length, 0.0, cells_per_edge - 1));
}

}  // namespace

KeyCube::KeyCube(const Box& box) {
  if (box.is_empty()) {
    return;
  }
  low = box.low;
  const double edge = box.edge_max();
  if (edge > 0) {
    cells_per_length = cells_per_edge / edge;
  }
  if (!std::isfinite(cells_per_length)) {  // a box so small that its inverse overflows is a point
    cells_per_length = 0;
  }
}

MortonKey KeyCube::key_of(const Vector& p) const {
  return spread(cell_of(p.x - low.x, cells_per_length)) << 2 | spread(cell_of(p.y - low.y, cells_per_length)) << 1 |
         spread(cell_of(p.z - low.z, cells_per_length));
}

Box bounding_box(const Particles& particles) {
  Box box;
  double poison = 0;  // stays 0 while all are finite; min and max would drop a NaN
  for (const Vector& position : particles.positions()) {
    box.include(position);
    poison += 0 * (position.x + position.y + position.z);
  }
  if (poison != 0) {
    const auto bad =
        std::ranges::find_if(particles.positions(), [](const Vector& p) { return !std::isfinite(p.x + p.y + p.z); });
    const auto place = static_cast<std::size_t>(bad - particles.positions().begin());
    throw Error{ErrorCode::bad_input,
                fmt::format("particle {} is at ({}, {}, {}): the run has become unstable; a shorter time step or a "
                            "softening may help",
                            particles.ids()[place],
                            bad->x,
                            bad->y,
                            bad->z)};
  }
  return box;
}

int common_levels(MortonKey first, MortonKey last) {
  const int leading = std::countl_zero(first ^ last) - 1;  // the key has 63 bits
  return std::min(leading / 3, morton_levels);
}

}  // namespace plait::particles
