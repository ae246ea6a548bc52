// SPDX-License-Identifier: Apache-2.0
#include "plait/particle_mesh/detail/patch_overlaps.hpp"

namespace plait::particles::detail {

namespace {

fft::Index floor_of_quotient(fft::Index value, fft::Index divisor) {
  return value >= 0 ? value / divisor : -((divisor - 1 - value) / divisor);
}

}  // namespace

std::vector<PatchOverlap> overlaps_of(const fft::IndexBox& patch,
                                      const fft::IndexBox& part,
                                      const std::array<fft::Index, 3>& lengths) {
  std::vector<PatchOverlap> found;
  if (patch.is_empty() || part.is_empty()) {
    return found;
  }
  std::array<fft::Index, 3> first{};
  std::array<fft::Index, 3> last{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    first[axis] = floor_of_quotient(patch.low[axis], lengths[axis]);
    last[axis] = floor_of_quotient(patch.high[axis] - 1, lengths[axis]);
  }
  for (fft::Index x = first[0]; x <= last[0]; ++x) {
    for (fft::Index y = first[1]; y <= last[1]; ++y) {
      for (fft::Index z = first[2]; z <= last[2]; ++z) {
        const std::array shift{x * lengths[0], y * lengths[1], z * lengths[2]};
        fft::IndexBox image = part;
        for (std::size_t axis = 0; axis < 3; ++axis) {
          image.low[axis] += shift[axis];
          image.high[axis] += shift[axis];
        }
        const fft::IndexBox common = common_part(patch, image);
        if (!common.is_empty()) {
          found.push_back({common, shift});
        }
      }
    }
  }
  return found;
}

fft::Index points_of(const std::vector<PatchOverlap>& overlaps) {
  fft::Index points = 0;
  for (const PatchOverlap& overlap : overlaps) {
    points += overlap.box.volume();
  }
  return points;
}

}  // namespace plait::particles::detail
