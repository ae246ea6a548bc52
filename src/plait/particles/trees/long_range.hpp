// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "plait/particles/interaction.hpp"
#include "plait/particles/store/kinds.hpp"
#include "plait/particles/store/particles.hpp"
#include "plait/particles/trees/tree.hpp"
#include "plait/particles/trees/walk.hpp"

namespace plait::particles {

/// What ranks exchange of their trees.
enum class LetMode : std::uint8_t {
  /// Every rank sends a locally essential tree to every other, if only its root.
  all_to_all,
  /// The same forces, but for the order of sums: all ranks gather the summaries of all. Where the multipole of a root
  /// suffices, nothing more is sent; the bounding boxes of upper nodes decide what else is.
  exact,
  /// Each rank counts as the one bounding box in its summary: trees are sent a round of messages earlier, but are
  /// larger. Far ranks act in groups. Forces differ within the error that theta allows.
  fast,
};

/// Forces that fall off as 1 / r^2: gravity, charges, and what a program's own kernels make of trees. Along periodic
/// axes of the system's space, the nearest images act.
struct LongRangeOptions {
  Field<double> charge;  ///< Such as mass. Not negative; the sign of the force is that of `coupling`.
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
  /// Reuses interaction lists as long as the trees (`SystemOptions::steps_between_trees`), with the errors that `walk`
  /// describes. Not with a near radius.
  bool keeps_lists = false;
  const Kernels* kernels = &best_kernels();
};

/// A long-range interaction of a system; created by `System::add_long_range`.
///
/// Each rank builds a tree over its particles, and sends to each other rank what that one needs of it. The walk over
/// the own tree begins at once, that over another's when it has arrived.
class LongRange : public Interaction {
 public:
  /// What `LongRangeOptions::near` has summed up in the last step, on this rank. Also in hooks after the sums.
  [[nodiscard]] virtual std::span<const double> near_sums() const noexcept = 0;
  /// The tree of the last step.
  [[nodiscard]] virtual const Tree& tree() const noexcept = 0;
};

/// Throws: `Error` with `bad_argument` for reused interaction lists with a near radius.
[[nodiscard]] std::unique_ptr<LongRange> make_long_range(LongRangeOptions options);

}  // namespace plait::particles
