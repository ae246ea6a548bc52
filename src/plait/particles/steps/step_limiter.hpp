// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "plait/particles/neighbours/cells.hpp"
#include "plait/particles/store/kinds.hpp"
#include "plait/particles/store/particles.hpp"
#include "plait/task/time_line.hpp"

namespace plait::particles {

struct StepLimiterOptions {
  Field<std::uint8_t> bin;  ///< The time bin of a particle's step (`task::TimeBin`).
  /// The bins that neighbours read, in own and ghost particles: stages that run while others read do not change them.
  Field<std::uint8_t> bin_seen;
  Field<float> reach;
  float reach_factor = 1;
  Kinds kinds;  ///< Whose steps are limited.
  /// Shortens the step of own particle `place`: sets its bin and corrects its kick. Called by any worker, concurrently
  /// for different cells.
  std::function<void(Particles::Index place, task::TimeBin bin, task::Ticks now)> wake;
};

/// Limits the time step of each particle to a factor of that of any active particle in reach
/// (`task::neighbour_bins_apart_max`), so that no particle sleeps through what happens beside it. The criterion is that
/// of Saitoh and Makino (2009), with wake-up.
///
/// For a stage of `CellSteps` that reads neighbours, after the stage in which active particles choose bins.
class StepLimiter {
 public:
  /// Active particles of a leaf whose new steps are short; box, reach and bin are of these only.
  struct Hurried {
    const Particles* store = nullptr;
    const Leaf* leaf = nullptr;
    Box box;
    float reach = 0;       ///< The largest.
    std::uint8_t bin = 0;  ///< The shortest.
  };
  /// The memory of a worker, for reuse.
  struct Buffers {
    std::vector<Hurried> near;          ///< To a cell,
    std::vector<const Hurried*> close;  ///< and to one of its leaves.
  };

  /// Borrows `table`.
  StepLimiter(const CellTable& table, StepLimiterOptions options) : table_{table}, options_{std::move(options)} {}

  /// Wakes the particles of an own cell that are near to much shorter steps. Threads: concurrent for different cells,
  /// each with its own buffers. Cost: O(particles of near cells) where an active neighbour is that short.
  void limit(std::uint32_t cell, task::Ticks now, Buffers& buffers) const;

 private:
  void find_hurried(std::uint32_t cell, task::Ticks now, std::vector<Hurried>& all) const;
  void limit_leaf(const Leaf& leaf, task::Ticks now, Buffers& buffers) const;
  [[nodiscard]] std::uint8_t shortest_near(Particles::Index i, const Hurried& hurried, std::uint8_t longest) const;

  const CellTable& table_;
  const StepLimiterOptions options_;
};

}  // namespace plait::particles
