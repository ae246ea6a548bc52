// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

#include "plait/fft/layout.hpp"

namespace plait::particles::detail {

/// Points that a patch and a part of the mesh share: the same point has index i in the patch, and i - `shift` in the
/// mesh.
struct PatchOverlap {
  fft::IndexBox box;  ///< In indices of the patch.
  std::array<fft::Index, 3> shift{};
};

/// Finds the points that `patch`, whose indices go on beyond a mesh of these `lengths`, shares with `part` of the mesh.
/// In a fixed order, as two ranks call it for one message. A patch larger than the mesh has points several times.
[[nodiscard]] std::vector<PatchOverlap> overlaps_of(const fft::IndexBox& patch,
                                                    const fft::IndexBox& part,
                                                    const std::array<fft::Index, 3>& lengths);

/// The number of points of all `overlaps`.
[[nodiscard]] fft::Index points_of(const std::vector<PatchOverlap>& overlaps);

}  // namespace plait::particles::detail
