// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/store/morton.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

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

constexpr std::size_t crowd_samples = 1024;
/// Beyond this ratio of edges, single precision does not suffice within a cell.
constexpr double crowd_times_max = 128;

/// The box of most positions: between the outer tenths along each axis, plus four times its edge on all sides.
Box crowd_of(std::span<const Vector> positions) {
  const std::size_t stride = (positions.size() + crowd_samples - 1) / crowd_samples;
  std::vector<double> values;
  Box middle;
  for (double Vector::* axis : {&Vector::x, &Vector::y, &Vector::z}) {
    values.clear();
    for (std::size_t i = 0; i < positions.size(); i += stride) {
      values.push_back(positions[i].*axis);
    }
    std::ranges::sort(values);
    middle.low.*axis = values[values.size() / 10];
    middle.high.*axis = values[values.size() - 1 - values.size() / 10];
  }
  const double room = 4 * middle.edge_max();
  return {middle.low - Vector{room, room, room}, middle.high + Vector{room, room, room}};
}

}  // namespace

KeyCube::KeyCube(const Box& box) {
  if (!box.is_empty()) {
    low = box.low;
    const double scale = cells_per_edge / box.edge_max();
    cells_per_length = std::isfinite(scale) ? scale : 0;  // a box whose inverse edge overflows is a point
  }
}

MortonKey KeyCube::key_of(const Vector& p) const {
  return spread(cell_of(p.x - low.x, cells_per_length)) << 2 | spread(cell_of(p.y - low.y, cells_per_length)) << 1 |
         spread(cell_of(p.z - low.z, cells_per_length));
}

KeySpace::KeySpace(const Box& all, std::span<const Vector> positions) : crowd_{all}, crowd_box_{all} {
  if (positions.empty()) {
    return;
  }
  const Box crowd = crowd_of(positions);
  if (all.edge_max() > crowd_times_max * crowd.edge_max()) {
    crowd_ = KeyCube{crowd};
    crowd_box_ = crowd;
    far_ = KeyCube{all};
    has_far_ = true;
  }
}

Box bounding_box(const Particles& particles) {
  Box box;
  double poison = 0;  // stays 0 while all are finite; min and max would drop a NaN
  for (const Vector& position : particles.positions()) {
    box.include(position);
    poison += 0 * (position.x + position.y + position.z);
  }
  const double farthest =
      box.is_empty() ? 0 : std::max({-box.low.x, -box.low.y, -box.low.z, box.high.x, box.high.y, box.high.z});
  if (poison != 0 || farthest > position_max) {
    const auto bad = std::ranges::find_if(particles.positions(), [](const Vector& p) {
      return !is_finite(p) || std::max({std::abs(p.x), std::abs(p.y), std::abs(p.z)}) > position_max;
    });
    const auto place = static_cast<std::size_t>(bad - particles.positions().begin());
    throw Error{ErrorCode::bad_input,
                fmt::format("particle {} is at ({}, {}, {}){}: the run has become unstable; reduce the time step or "
                            "use a softening",
                            particles.ids()[place],
                            bad->x,
                            bad->y,
                            bad->z,
                            is_finite(*bad) ? fmt::format(", beyond the limit of {:g}", position_max) : "")};
  }
  return box;
}

int common_levels(MortonKey first, MortonKey last) {
  const int leading = std::countl_zero(first ^ last) - 1;  // below the bit of outliers
  return leading < 0 ? -1 : std::min(leading / 3, morton_levels);
}

}  // namespace plait::particles
