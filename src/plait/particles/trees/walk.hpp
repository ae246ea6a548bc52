// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "plait/particles/store/kinds.hpp"
#include "plait/particles/store/particles.hpp"
#include "plait/particles/trees/kernels/kernel.hpp"
#include "plait/particles/trees/tree.hpp"

namespace plait::particles {

using std::chrono::nanoseconds;

/// A target, and the other sources within the near radius.
struct NearPairs {
  Particles::Index target = 0;             ///< Its place in the store.
  std::span<const std::uint32_t> sources;  ///< Their indices in `view.sources`.
  const TreeView& view;
  std::span<double> sums;  ///< Of the worker, such as energies; reduced at the end of a step.
  Lattice images = {};     ///< The source is `images.in_box(its position - the target's)` from the target.
};
using NearFunction = std::function<void(const NearPairs&)>;

/// The precision of direct forces. Multipoles always act in single precision, relative to a nearby centre.
enum class Precision : std::uint8_t {
  mixed,  ///< Single precision relative to a nearby centre: errors of 1e-6, three times as fast.
  full,   ///< Double precision: errors of 1e-11.
};

struct WalkOptions {
  Precision precision = Precision::full;  ///< With a near radius always full.
  double softening = 0;                   ///< The Plummer length.
  double coupling = 1;  ///< The acceleration is coupling * charge / r^2 towards the source, if negative away from it.
  NearFunction near;    ///< Called for each target with sources within `TreeOptions::near_radius`.
  LongRangeKernel kernel;  ///< The program's own force; empty: gravity.
  const Kernels* kernels = &best_kernels();
};

/// The cost of walks.
struct WalkSums {
  std::uint64_t nodes_visited = 0;
  std::uint64_t body_body = 0;
  std::uint64_t body_cell = 0;
  nanoseconds walk{};
  nanoseconds kernel{};
};

/// Selects the particles whose time bin is at most `longest`.
struct BinLimit {
  Field<std::uint8_t> bin;  ///< `task::TimeBin`.
  std::uint8_t longest = 255;
};

/// The particles on which forces act, in the order of their tree, and the fields of the sums. A walk opens nodes for
/// the boxes of targets only.
struct Targets {
  Particles& store;
  const Tree& tree;
  Kinds kinds;
  Field<Vector> acceleration;
  Field<double> potential;
  std::optional<BinLimit> bins;  ///< Nothing: all bins.

  [[nodiscard]] bool are_all() const noexcept { return kinds.are_all() && (!bins || bins->longest == 255); }
};

/// Whether the sources are the targets' own tree, in which each particle interacts with itself.
enum class Origin : std::uint8_t { own_tree, received };

/// Interaction lists of the batches of one tree with another tree, which may be reused until a tree is rebuilt.
/// Memory: some kilobytes a group. Threads: concurrent for different batches.
struct WalkLists {
  /// Consecutive bodies of the sources' tree.
  struct Range {
    std::uint32_t first;
    std::uint32_t count;
  };
  /// The lists of one batch: first that of the whole batch, then the additions of each group. `ends` has the ends of
  /// each in `cells` and `ranges`.
  struct OfBatch {
    struct End {
      std::size_t cell = 0;
      std::size_t range = 0;
    };
    bool is_recorded = false;
    std::vector<std::uint32_t> cells;
    std::vector<Range> ranges;
    std::vector<End> ends;
  };
  std::vector<OfBatch> batches;

  /// Discards all lists: the next walk of each of `count` batches records new ones. Keeps memory.
  void begin(std::size_t count);
};

/// The memory and the sums of a thread that walks; for reuse.
struct WalkSpace {
  WalkSums sums;
  std::vector<double> near_sums;

  struct Buffers;                                                          // private to walk.cpp
  std::unique_ptr<Buffers, void (*)(Buffers*)> buffers{nullptr, nullptr};  ///< Created by the first walk.
};

/// The sources of forces.
struct Sources {
  const TreeView& view;
  Origin origin = Origin::own_tree;
  WalkLists* lists = nullptr;  ///< The first walk records them, later walks reuse them; null: no reuse.
};

/// Adds the forces of `sources` on the targets in `batches`, which are batches of their tree: acceleration, potential
/// and cost. Order, near radius, cut-off and period are those of the targets' tree; the sources' tree has the same.
///
/// The order in which trees are added changes results by rounding only. Reused interaction lists are not updated: cells
/// that are now too near for theta still act as multipoles, and bodies that have moved within the near radius or the
/// cut-off are missed. Threads: concurrent for disjoint batches, each with its own space.
void walk(const Sources& sources,
          const Targets& targets,
          std::span<const Batch> batches,
          const WalkOptions& options,
          WalkSpace& space);

}  // namespace plait::particles
