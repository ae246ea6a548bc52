// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <new>
#include <vector>

#include "plait/particles/store/vector.hpp"

namespace plait::particles {

/// Allocates on cache lines.
template <class T>
struct LineAllocator {
  using value_type = T;
  LineAllocator() = default;
  template <class U>
  explicit LineAllocator(const LineAllocator<U>&) noexcept {}
  [[nodiscard]] T* allocate(std::size_t n) {
    return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t{64}));
  }
  void deallocate(T* p, std::size_t) noexcept { ::operator delete(p, std::align_val_t{64}); }
  friend bool operator==(const LineAllocator&, const LineAllocator&) { return true; }
};
template <class T>
using LineVector = std::vector<T, LineAllocator<T>>;

/// Lists are padded to a multiple of this many entries, of mass 0.
inline constexpr std::size_t list_padding = 16;

/// A padded `BodyList` as the kernels see it: plain pointers to cache lines.
struct BodySpan {
  const double *x, *y, *z, *mass;
  std::size_t length;
};
/// A padded `CellList` as the kernels see it.
struct CellSpan {
  const float *x, *y, *z, *mass, *xx, *xy, *xz, *yy, *yz;
  std::size_t length;

  /// Expects: `begin` is a multiple of the padding.
  [[nodiscard]] CellSpan part(std::size_t begin, std::size_t size) const noexcept {
    return {x + begin,
            y + begin,
            z + begin,
            mass + begin,
            xx + begin,
            xy + begin,
            xz + begin,
            yy + begin,
            yz + begin,
            size};
  }
};

/// Bodies that act on a group, in double precision.
struct BodyList {
  LineVector<double> x, y, z, mass;

  /// Makes room for `n` entries, keeping those that are there. Never shrinks.
  void reserve(std::size_t n);
  /// Fills the padding after the first `count` entries. Expects: there is room for them.
  [[nodiscard]] BodySpan pad(std::size_t count);
};

/// Cells that act on a group as their moments. Positions are relative to the group's origin, so that single
/// precision is enough: an accepted cell is never near compared with its size.
struct CellList {
  LineVector<float> x, y, z, mass, xx, xy, xz, yy, yz;

  void reserve(std::size_t n);
  [[nodiscard]] CellSpan pad(std::size_t count);
};

/// What a list does to one body. The potential is that of gravity, negative.
struct Pull {
  double x = 0, y = 0, z = 0;
  double potential = 0;
};
static_assert(sizeof(Pull) == 4 * sizeof(double), "kernels store it as one vector");

/// The particles of a group, and where what acts on them is added up.
struct TargetSpan {
  const double *x, *y, *z;
  const float *near_x, *near_y, *near_z;  ///< Relative to the origin of the lists.
  std::size_t count;
  Pull* pulls;
};

/// What holds for all pairs.
struct KernelOptions {
  double softening2 = 0;
  double contact2 = 0;                                       ///< Distances below count as this; 0 without contacts.
  double cutoff2 = std::numeric_limits<double>::infinity();  ///< What is as far or farther does not act.
  Vector period;  ///< Of periodic axes, where the nearest image acts; 0 along open ones.

  [[nodiscard]] bool is_bounded() const noexcept {
    return cutoff2 < std::numeric_limits<double>::infinity() || period != Vector{};
  }
};

/// A set of force kernels for one kind of processor: written once with Highway, compiled for each of its targets.
///
/// Each adds to the targets' pulls. A pair at distance 0 without softening and contact radius exerts nothing, rather
/// than NaN.
struct Kernels {
  const char* name;
  /// Also adds to `near`, one for each target, the number of list entries closer than the contact radius, if any.
  void (*bodies)(const TargetSpan& targets, const BodySpan& list, const KernelOptions& options, std::uint32_t* near);
  /// Bodies in single precision; of the list, the quadrupoles count for nothing.
  void (*near_bodies)(const TargetSpan& targets, const CellSpan& list, const KernelOptions& options);
  void (*monopoles)(const TargetSpan& targets, const CellSpan& list, const KernelOptions& options);
  void (*quadrupoles)(const TargetSpan& targets, const CellSpan& list, const KernelOptions& options);
};

/// The sets that this processor can run, slowest first.
[[nodiscard]] const std::vector<const Kernels*>& available_kernels();
[[nodiscard]] const Kernels& best_kernels();

/// What a program's own long-range force acts on and what acts: the targets of one group, bodies, and cells as their
/// moments, in the order of the walk.
struct KernelWork {
  const TargetSpan& targets;  ///< To whose pulls it adds, four numbers each; all get them times the coupling.
  BodySpan bodies;            ///< With full precision; else none.
  CellSpan near_bodies;       ///< With mixed precision; else none.
  CellSpan cells;
  const KernelOptions& options;
};
/// Called by any worker, at the same time for different targets. A target meets itself at distance 0; what pads the
/// lists has charge 0.
using LongRangeKernel = std::function<void(const KernelWork&)>;

}  // namespace plait::particles
