// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "plait/particles/store/line_vector.hpp"
#include "plait/particles/store/vector.hpp"

namespace plait::particles {

/// Lists are padded to a multiple of this many entries. Padding has mass 0.
inline constexpr std::size_t list_padding = 16;

/// A padded `BodyList` as kernels read it: pointers to cache lines.
struct BodySpan {
  const double *x, *y, *z, *mass;
  std::size_t length;
};
/// A padded `CellList` as kernels read it.
struct CellSpan {
  const float *x, *y, *z, *mass, *xx, *xy, *xz, *yy, *yz;
  const float* trace;
  std::size_t length;
  const float *px, *py, *pz;  ///< Dipoles.
};

/// Bodies that act on a group, in double precision.
struct BodyList {
  LineVector<double> x, y, z, mass;

  /// Makes room for `n` entries and keeps existing ones. Never shrinks.
  void reserve(std::size_t n);
  /// Fills the padding after the first `count` entries. Expects: `reserve` has made room for them.
  [[nodiscard]] BodySpan pad(std::size_t count);
};

/// Cells that act on a group as multipoles. Positions are relative to the group's origin. Single precision suffices, as
/// an accepted cell is far compared with its size.
struct CellList {
  LineVector<float> x, y, z, mass, xx, xy, xz, yy, yz, px, py, pz;
  LineVector<float> trace;  ///< `Node::second_moment`: only for kernels of the program's own.

  void reserve(std::size_t n);
  [[nodiscard]] CellSpan pad(std::size_t count);
};

/// The acceleration and the potential of one body. The potential is that of gravity, negative.
struct Pull {
  double x = 0, y = 0, z = 0;
  double potential = 0;
};
static_assert(sizeof(Pull) == 4 * sizeof(double), "kernels store it as one vector");

/// The targets of a group, and their sums.
struct TargetSpan {
  const double *x, *y, *z;
  const float *near_x, *near_y, *near_z;  ///< Relative to the origin of the lists.
  std::size_t count;
  Pull* pulls;
};

/// The constants of all pairs.
struct KernelOptions {
  double softening2 = 0;
  double contact2 = 0;                                       ///< The least squared distance; 0: none.
  double cutoff2 = std::numeric_limits<double>::infinity();  ///< The squared distance from which on nothing acts.
  Vector period;            ///< Of periodic axes, where the nearest image acts; 0 along open axes.
  double displacement = 0;  ///< Of a shearing box, as `Slide::displacement`: kernels fold x, then y and z.

  [[nodiscard]] bool is_bounded() const noexcept {
    return cutoff2 < std::numeric_limits<double>::infinity() || period != Vector{};
  }
};

/// The pairs of a target that a kernel must test.
enum class Reach {
  all,     ///< Each pair acts as it is.
  cutoff,  ///< Each entry within the cut-off is the nearest image.
  images,  ///< The nearest images must be found.
};

/// For lists relative to the targets' origin, whose entries are the images nearest to it. Cost: O(targets).
[[nodiscard]] Reach reach_of(const KernelOptions& options, const TargetSpan& targets);

/// The force kernels for one kind of processor; Highway compiles one source for each of its targets.
///
/// Each kernel adds to the targets' pulls. A pair at distance 0 exerts no force without softening and contact radius.
struct Kernels {
  const char* name;
  std::size_t lanes;  ///< The numbers in single precision that a vector register holds.
  /// With a contact radius, also adds to `near[target]` the number of list entries within it.
  void (*bodies)(const TargetSpan& targets, const BodySpan& list, const KernelOptions& options, std::uint32_t* near);
  /// Bodies in single precision. Ignores quadrupoles.
  void (*near_bodies)(const TargetSpan& targets, const CellSpan& list, const KernelOptions& options);
  void (*monopoles)(const TargetSpan& targets, const CellSpan& list, const KernelOptions& options);
  void (*quadrupoles)(const TargetSpan& targets, const CellSpan& list, const KernelOptions& options);
  /// The dipoles alone, beside monopoles or quadrupoles.
  void (*dipoles)(const TargetSpan& targets, const CellSpan& list, const KernelOptions& options);
};

/// The kernels that this processor can run, slowest first.
[[nodiscard]] const std::vector<const Kernels*>& available_kernels();
[[nodiscard]] const Kernels& best_kernels();

/// The input of a program's own long-range kernel: the targets of one group, and the bodies and cells that act on them.
struct KernelWork {
  const TargetSpan& targets;  ///< The kernel adds to their pulls, which the walk multiplies by the coupling.
  BodySpan bodies;            ///< In full precision; else empty.
  CellSpan near_bodies;       ///< In mixed precision; else empty.
  CellSpan cells;
  const KernelOptions& options;
  std::span<const std::byte> moments;              ///< Of cells, without padding, if the program has moments.
  std::span<const std::uint32_t> indices;          ///< Of bodies, without padding, if fields travel.
  std::span<const std::byte* const> columns = {};  ///< The fields that travel, by index.

  /// The program's moments of cells, without padding. Expects: the type of `make_moments`.
  template <class Moment>
  [[nodiscard]] std::span<const Moment> moments_as() const {
    return {reinterpret_cast<const Moment*>(moments.data()), moments.size() / sizeof(Moment)};
  }
  /// The value of a body in the field with this number in `LongRangeOptions::travels`. Expects: the body is none of the
  /// padding.
  template <class T>
  [[nodiscard]] const T& travelling(std::size_t number, std::size_t body) const {
    return reinterpret_cast<const T*>(columns[number])[indices[body]];
  }
};
/// Called by any worker, concurrently for different targets. A target is in its own list, at distance 0; padding has
/// charge 0.
using LongRangeKernel = std::function<void(const KernelWork&)>;

}  // namespace plait::particles
