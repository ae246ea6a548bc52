// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "plait/particles/interaction.hpp"
#include "plait/particles/store/kinds.hpp"
#include "plait/particles/store/particles.hpp"
#include "plait/particles/trees/tree.hpp"
#include "plait/particles/trees/walk.hpp"

namespace plait::particles {

/// The exchange of locally essential trees (LETs). Before, each rank gets the summaries of the trees of all others;
/// among many ranks those of far ranks are joined in blocks (`LongRangeOptions::summaries_gathered_max`).
enum class LetMode : std::uint8_t {
  /// Each rank sends a LET to each other rank. All ranks gather all summaries.
  all_to_all,
  /// Neighbouring ranks exchange bounding boxes of upper nodes, then LETs. No LET is sent where the multipole of the
  /// root suffices. Forces are those of `all_to_all`, except for the order of sums. If far ranks are joined in blocks,
  /// these act as one, and forces differ within the error of theta.
  exact,
  /// Ranks use the one bounding box in each summary: LETs are sent one round of messages earlier, but are larger. The
  /// roots of far ranks act in groups. Forces differ within the error of theta.
  fast,
};

/// Forces that fall off as 1 / r^2, such as gravity and electrostatics, or a program's own kernels on trees. Along
/// periodic axes of the system's space, the nearest images act: of each source the one in a box of the root's edges
/// around the target, in a shearing box as `Lattice::in_box` finds it. Farther images do not act.
struct LongRangeOptions {
  Field<double> charge;  ///< Such as mass. `coupling` has the sign of the force.
  /// Charges of both signs need `ChargeSigns::both` or `apart`: else cells whose charges cancel do not act.
  ChargeSigns signs = ChargeSigns::one;
  Field<Vector> acceleration;
  Field<double> potential;
  Kinds sources;
  Kinds targets;
  double theta = 0.5;  ///< The opening angle; 0 sums directly.
  /// The error that forces may have: its root mean square over that of the force. Each rank then chooses theta for its
  /// own particles before the first build (`theta_of_error`). 0: `theta` is the angle.
  double force_error = 0;
  /// Quadrupoles cost less than monopoles of the same error, and their errors are less of one sign: energy is conserved
  /// better by one order of magnitude or more.
  Order order = Order::quadrupole;
  Precision precision = Precision::full;
  double softening = 0;                    ///< The Plummer length.
  double coupling = 1;                     ///< See `WalkOptions::coupling`.
  double near_radius = 0;                  ///< See `TreeOptions::near_radius`.
  std::optional<Field<float>> near_reach;  ///< See `TreeOptions::near_reach`.
  Search near_search = Search::scatter;    ///< See `TreeOptions::near_search`.
  double cutoff = 0;                       ///< See `TreeOptions::cutoff`.
  LongRangeKernel kernel;                  ///< See `WalkOptions::kernel`.
  CellMoments moments;            ///< The program's own moments of cells, which `kernel` reads (`make_moments`).
  NearFunction near;              ///< Called by any worker, concurrently for different targets.
  std::size_t near_sums = 0;      ///< The size of `NearPairs::sums`.
  std::vector<AnyField> travels;  ///< The fields of sources that `near` or `kernel` reads.
  LetMode lets = LetMode::exact;
  // The sizes of the parts of trees; 0: those of `sizes_for`, by the kernels of this processor. Forces differ between
  // sizes of leaves and groups within the error of theta.
  std::uint32_t leaf_bodies_max = 0;
  std::uint32_t group_bodies_max = 0;
  std::uint32_t batch_bodies_max = 0;
  /// Up to so many ranks, all gather the summaries of all trees. Among more, near ranks and blocks of far ones exchange
  /// them (`SummaryExchange`).
  std::uint32_t summaries_gathered_max = 2048;
  /// Each rank measures the fastest sizes before the first build (`with_fastest_sizes`). Forces then differ between
  /// runs, within the error of theta.
  bool measures_sizes = false;
  /// Reuses interaction lists until the next build (`SystemOptions::steps_between_trees`), with the errors that `walk`
  /// describes. Not with a near radius.
  bool keeps_lists = false;
  /// The velocities of sources, for steps with individual time steps on several ranks: between exchanges, received
  /// trees drift by them.
  std::optional<Field<Vector>> velocity;
  const Kernels* kernels = &best_kernels();
};

/// A long-range interaction of a system; created by `System::add_long_range`.
///
/// Each rank builds a tree over its particles and sends locally essential trees. The walk over its own tree starts at
/// once, the walk over a received tree on arrival.
///
/// With individual time steps (`CellSteps`), the tree is over the cells, which keep their order. Each step moves it to
/// the present time, and walks for active particles only. Ranks exchange trees in some steps; in the others, received
/// trees drift.
class LongRange : public Interaction {
 public:
  /// This rank's `NearPairs::sums` of the last step. Available from `System::when_summed` on.
  [[nodiscard]] virtual std::span<const double> near_sums() const noexcept = 0;
};

/// Throws: `Error` with `bad_argument` for reused interaction lists with a near radius, for two kinds of near radius,
/// for moments without a kernel, for no summaries that are gathered, and for a force error that is negative or no
/// number. The first step throws the same for a shear or `ChargeSigns::apart` with individual time steps, and for a
/// near radius or a cut-off of more than half of a shearing box.
[[nodiscard]] std::unique_ptr<LongRange> make_long_range(LongRangeOptions options);

}  // namespace plait::particles
