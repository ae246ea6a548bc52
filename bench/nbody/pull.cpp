// SPDX-License-Identifier: Apache-2.0
#include "nbody/pull.hpp"

#include <cmath>
#include <cstddef>

namespace bench {
namespace {

void pull(const plait::particles::KernelWork& work, const plait::particles::CellSpan& from) {
  const plait::particles::TargetSpan& to = work.targets;
  const auto softening2 = static_cast<float>(work.options.softening2);
  for (std::size_t i = 0; i < to.count; ++i) {
    const float x = to.near_x[i];
    const float y = to.near_y[i];
    const float z = to.near_z[i];
    float ax = 0;
    float ay = 0;
    float az = 0;
    float p = 0;
    for (std::size_t j = 0; j < from.length; ++j) {
      const float dx = from.x[j] - x;
      const float dy = from.y[j] - y;
      const float dz = from.z[j] - z;
      const float r = 1 / std::sqrt(dx * dx + dy * dy + dz * dz + softening2);
      const float mr3 = from.mass[j] * r * r * r;
      ax += mr3 * dx;
      ay += mr3 * dy;
      az += mr3 * dz;
      p -= from.mass[j] * r;
    }
    to.pulls[i].x += ax;
    to.pulls[i].y += ay;
    to.pulls[i].z += az;
    to.pulls[i].potential += p;
  }
}

}  // namespace

void nbody_pull(const plait::particles::KernelWork& work) {
  pull(work, work.near_bodies);
  pull(work, work.cells);
}

}  // namespace bench
