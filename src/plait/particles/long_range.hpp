// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "plait/particles/interaction.hpp"
#include "plait/particles/kinds.hpp"
#include "plait/particles/particles.hpp"
#include "plait/particles/tree.hpp"
#include "plait/particles/walk.hpp"

namespace plait::particles {

/// What ranks tell each other of their trees.
enum class LetMode : std::uint8_t {
  /// Every rank sends a locally essential tree to every other, if only its root.
  all_to_all,
  /// The same forces, but for the order of sums: a rank whose root is enough for another tells that it by its summary,
  /// which all get, and sends nothing more. Who needs more is told by the boxes of upper nodes.
  exact,
  /// Ranks are taken as one box each, which all know by the summaries: no boxes are exchanged, and trees leave a round
  /// of messages earlier, but larger. Far ranks act in groups. Forces differ within the error that theta allows.
  fast,
};

/// Forces that fall off as 1 / r^2: gravity, charges, and what a program's own kernels make of trees. Along periodic
/// axes of the system's space, the nearest images act.
struct LongRangeOptions {
  Field<double> charge;  ///< Mass, say. Not negative; the sign of the force is that of `coupling`.
  Field<Vector> acceleration;
  Field<double> potential;
  Kinds sources;
  Kinds targets;
  double theta = 0.5;  ///< Opening angle; 0 sums directly.
  Order order = Order::quadrupole;
  Precision precision = Precision::full;
  double softening = 0;           ///< Plummer length.
  double coupling = 1;            ///< See `WalkOptions::coupling`.
  double near_radius = 0;         ///< See `WalkOptions::near_radius`.
  double cutoff = 0;              ///< See `WalkOptions::cutoff`.
  LongRangeKernel kernel;         ///< See `WalkOptions::kernel`.
  NearFunction near;              ///< Called by any worker, at the same time for different targets.
  std::size_t near_sums = 0;      ///< How many numbers `near` may sum up.
  std::vector<AnyField> travels;  ///< What `near` needs of sources.
  LetMode lets = LetMode::exact;
  std::uint32_t leaf_bodies_max = 8;
  std::uint32_t group_bodies_max = 64;
  std::uint32_t batch_bodies_max = 1024;
  /// Before the first tree is built, each rank measures which sizes of leaves, groups and batches are fastest for its
  /// particles (`fastest_sizes`): so forces differ from run to run, within the error that theta allows.
  bool measures_sizes = false;
  /// Lists of what acts on whom stay with the trees (`SystemOptions::steps_between_trees`), with what `WalkLists` says
  /// of their errors. Not with a near radius.
  bool keeps_lists = false;
  std::size_t task_batches = 1;  ///< Batches that one task walks for.
  const Kernels* kernels = &best_kernels();
};

/// A long-range interaction of a system; made by `System::add_long_range`.
///
/// Each rank builds a tree over its particles, and sends to each other rank what that one needs of it. The walk over
/// the own tree begins at once, that over another's when it has arrived.
class LongRange final : public Interaction {
 public:
  /// Throws: `Error` with `bad_argument` when lists are to be kept though near pairs are to be found.
  explicit LongRange(LongRangeOptions options);
  ~LongRange() override;
  LongRange(const LongRange&) = delete;
  LongRange& operator=(const LongRange&) = delete;
  LongRange(LongRange&&) = delete;
  LongRange& operator=(LongRange&&) = delete;

  std::vector<task::Task> add_building_tasks(const StepFrame& frame, task::Task after) override;
  std::vector<task::Task> add_refreshing_tasks(const StepFrame& frame, task::Task after) override;
  std::vector<task::Task> add_summing_tasks(const StepFrame& frame, task::Task after, task::Task end) override;
  void clear_results(Particles& store, std::size_t first, std::size_t last) override;
  void take_times(StepTimes& times) override;

  /// What `LongRangeOptions::near` has summed up in the last step, on this rank. Also in hooks after the sums.
  [[nodiscard]] std::span<const double> near_sums() const noexcept;
  [[nodiscard]] const Tree& tree() const noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace plait::particles
