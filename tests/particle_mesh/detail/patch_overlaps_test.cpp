// SPDX-License-Identifier: Apache-2.0
#include "plait/particle_mesh/detail/patch_overlaps.hpp"

#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace plait::particles::detail::patch_overlaps_test {
namespace {

using fft::Index;
using fft::IndexBox;

/// Each point of the patch is in one part of the mesh, the one that has its image.
TEST(PatchOverlaps, parts_of_a_mesh_share_out_any_patch) {
  std::mt19937 random{7};
  const std::array<Index, 3> lengths{7, 6, 9};
  const std::array<Index, 4> cuts{0, 2, 5, 7};
  for (int trial = 0; trial < 100; ++trial) {
    IndexBox patch;
    for (int axis = 0; axis < 3; ++axis) {
      patch.low[axis] = std::uniform_int_distribution<Index>{-20, 10}(random);
      patch.high[axis] = patch.low[axis] + std::uniform_int_distribution<Index>{0, 14}(random);
    }
    std::set<std::array<Index, 3>> found;
    Index points = 0;
    for (std::size_t cut = 0; cut + 1 < cuts.size(); ++cut) {
      const IndexBox part{{cuts[cut], 0, 0}, {cuts[cut + 1], 6, 9}};
      const std::vector<PatchOverlap> overlaps = overlaps_of(patch, part, lengths);
      points += points_of(overlaps);
      for (const auto& [box, shift] : overlaps) {
        for (Index i = box.low[0]; i < box.high[0]; ++i) {
          for (Index j = box.low[1]; j < box.high[1]; ++j) {
            for (Index k = box.low[2]; k < box.high[2]; ++k) {
              found.insert({i, j, k});
              const std::array<Index, 3> image{i - shift[0], j - shift[1], k - shift[2]};
              for (int axis = 0; axis < 3; ++axis) {
                EXPECT_GE(image[axis], part.low[axis]);
                EXPECT_LT(image[axis], part.high[axis]);
                EXPECT_EQ(shift[axis] % lengths[axis], 0);
              }
            }
          }
        }
      }
    }
    EXPECT_EQ(points, patch.volume());
    EXPECT_EQ(static_cast<Index>(found.size()), patch.volume());
  }
}

}  // namespace
}  // namespace plait::particles::detail::patch_overlaps_test
