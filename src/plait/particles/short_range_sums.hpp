// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "plait/particles/interaction.hpp"
#include "plait/particles/short_range.hpp"
#include "plait/particles/space.hpp"
#include "plait/particles/tree.hpp"

namespace plait::particles {

/// What a kernel sums up, and between which particles.
struct ShortRangeSumsOptions {
  ShortRangeOptions search;
  std::vector<AnyField> results;  ///< Set to zero before the sums. Fields of numbers for which all bytes 0 is zero.
  Space space;                    ///< The system's.
};

/// A short-range interaction of a system: a kernel over blocks of targets and of all sources near them, of whatever
/// rank; made by `System::add_short_range`.
///
/// In each step ranks tell each other where their cells are, and send those that are near. Each target's sums are
/// written by one task alone, in an order that does not depend on workers.
class ShortRangeSums final : public Interaction {
 public:
  /// Cells are those of `tree`, if there is one, which is built before; else it builds its own.
  ShortRangeSums(ShortRangeSumsOptions options, ShortRangeKernel kernel, const Tree* tree);
  ~ShortRangeSums() override;
  ShortRangeSums(const ShortRangeSums&) = delete;
  ShortRangeSums& operator=(const ShortRangeSums&) = delete;
  ShortRangeSums(ShortRangeSums&&) = delete;
  ShortRangeSums& operator=(ShortRangeSums&&) = delete;

  std::vector<task::Task> add_building_tasks(const StepFrame& frame, task::Task after) override;
  std::vector<task::Task> add_refreshing_tasks(const StepFrame& frame, task::Task after) override;
  std::vector<task::Task> add_summing_tasks(const StepFrame& frame, task::Task after, task::Task end) override;
  void clear_results(Particles& store, std::size_t first, std::size_t last) override;
  void take_times(StepTimes& times) override;

  [[nodiscard]] const Tree& tree() const noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plait::particles
