// SPDX-License-Identifier: Apache-2.0
#include "sph/problems/glass/glass.hpp"

namespace sph {

namespace {

constexpr GlassPoint points[] = {
#include "sph/problems/glass/glass_points.inc"
};

}  // namespace

std::span<const GlassPoint> glass_points() noexcept {
  return points;
}

}  // namespace sph
