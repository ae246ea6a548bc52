// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "plait/particles/store/kinds.hpp"
#include "plait/particles/store/particles.hpp"
#include "plait/particles/trees/kernels/kernel.hpp"
#include "plait/particles/trees/tree.hpp"

namespace plait::particles {

using std::chrono::nanoseconds;

/// A target and sources nearer to it than the near radius; not itself.
struct NearPairs {
  Particles::Index target = 0;             ///< Its place in the store.
  std::span<const std::uint32_t> sources;  ///< Their places in `view`.
  const TreeView& view;
  std::span<double> sums;  ///< Of the worker, added up at the end of a step: energies and the like.
};
using NearFunction = std::function<void(const NearPairs&)>;

/// How what acts directly is computed. Moments are always relative to a centre nearby, in single precision.
enum class Precision : std::uint8_t {
  mixed,  ///< As moments are: 1e-6 of the pull, three times as fast.
  full,   ///< In double precision, to 1e-11.
};

struct WalkOptions {
  Precision precision = Precision::full;  ///< Near pairs are always found in full precision.
  Order order = Order::quadrupole;
  double softening = 0;  ///< Plummer length.
  double coupling = 1;   ///< Acceleration is coupling * charge / r^2 towards the source; negative: away from it.
  /// Within it, the pull is that inside a homogeneous sphere of that radius, and `near` is called; 0: nothing of both.
  double near_radius = 0;
  NearFunction near;
  /// What is as far or farther does not act: a body where it is, a cell as if all of it were at its centre. 0: all
  /// acts. Forces should fade towards it.
  double cutoff = 0;
  Vector period;           ///< Of periodic axes, where the nearest image acts; 0 along open ones.
  LongRangeKernel kernel;  ///< The program's own force, instead of that of gravity.
  const Kernels* kernels = &best_kernels();
};

/// What a walk took. Those of all parts of a step are added.
struct WalkSums {
  std::uint64_t groups = 0;
  std::uint64_t nodes_visited = 0;
  std::uint64_t body_body = 0;
  std::uint64_t body_cell = 0;
  nanoseconds walk{};
  nanoseconds kernel{};
};

/// Particles that feel a force, in the order of their tree, and where the sums go.
struct Targets {
  Particles& store;
  const Tree& tree;
  Kinds kinds;
  Field<Vector> acceleration;
  Field<double> potential;
};

/// Memory for lists, one for each thread that walks; reused.
class WalkSpace {
 public:
  WalkSpace();
  WalkSpace(WalkSpace&&) noexcept;
  WalkSpace& operator=(WalkSpace&&) noexcept;
  WalkSpace(const WalkSpace&) = delete;
  WalkSpace& operator=(const WalkSpace&) = delete;
  ~WalkSpace();

  WalkSums sums;
  std::vector<double> near_sums;

  struct Lists;  // private to walk.cpp
  [[nodiscard]] Lists& lists() noexcept { return *lists_; }

 private:
  std::unique_ptr<Lists> lists_;
};

/// Whether the sources are the targets' own tree, in which every particle meets itself.
enum class Origin : std::uint8_t { own_tree, received };

/// Interaction lists of the batches of one tree with another, reused while both trees keep their content.
/// Memory: some kilobytes a group. Threads: at the same time for different batches.
class WalkLists {
 public:
  /// Forgets all: the next walk over each of `batches` batches is noted. Keeps memory.
  void begin(std::size_t batches);

  /// Bodies of the sources' tree.
  struct Range {
    std::uint32_t first;
    std::uint32_t count;
  };
  /// What acts on one batch: what acts on all of it, then what acts on each group besides. Of each of them the ends
  /// among `cells` and `ranges` are noted.
  struct OfBatch {
    struct End {
      std::size_t cell = 0;
      std::size_t range = 0;
    };
    bool is_noted = false;
    std::vector<std::uint32_t> cells;
    std::vector<Range> ranges;
    std::vector<End> ends;
  };
  [[nodiscard]] OfBatch& of(std::size_t batch) { return batches_[batch]; }

 private:
  std::vector<OfBatch> batches_;
};

/// What acts on them.
struct Sources {
  const TreeView& view;
  Origin origin = Origin::own_tree;
  WalkLists* lists = nullptr;  ///< Noted by the first walk and used by those after it; none: each walk finds its own.
};

/// Adds what `sources` do to the targets in `batches`, some of their tree's: acceleration, potential, cost.
///
/// Threads: at the same time for disjoint batches, each with its space. The tree must have been made with the same near
/// radius. Sums into a target depend on the order in which trees are added, by rounding only. Reused
/// interaction lists do not change: cells that have come nearer than theta allows stay cells, and what has come within
/// the near radius or the cut-off since is missed.
void walk(const Sources& sources,
          const Targets& targets,
          std::span<const Batch> batches,
          const WalkOptions& options,
          WalkSpace& space);

}  // namespace plait::particles
