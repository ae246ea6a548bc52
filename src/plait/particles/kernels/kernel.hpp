// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

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

/// Softening and contact radius as the kernels need them, squared.
struct KernelOptions {
  double softening2 = 0;
  double contact2 = 0;  ///< Distances below count as this; 0 without contacts.
};

/// A set of force kernels for one kind of processor: written once with Highway, compiled for each of its targets.
///
/// Each adds to `pulls`, one for each of `n` targets whose coordinates stand in `x`, `y`, `z`. A pair at distance 0
/// without softening and contact radius exerts nothing, rather than NaN.
struct Kernels {
  const char* name;
  /// Also adds to `near` the number of list entries closer than the contact radius, when there is one.
  void (*bodies)(const double* x,
                 const double* y,
                 const double* z,
                 std::size_t n,
                 const BodySpan& list,
                 const KernelOptions& options,
                 Pull* pulls,
                 std::uint32_t* near);
  /// Bodies in single precision: `x`, `y`, `z` and the list relative to one origin; of the list, the quadrupoles count
  /// for nothing.
  void (*near_bodies)(const float* x,
                      const float* y,
                      const float* z,
                      std::size_t n,
                      const CellSpan& list,
                      const KernelOptions& options,
                      Pull* pulls);
  /// `x`, `y`, `z` relative to the list's origin.
  void (*monopoles)(const float* x,
                    const float* y,
                    const float* z,
                    std::size_t n,
                    const CellSpan& list,
                    const KernelOptions& options,
                    Pull* pulls);
  void (*quadrupoles)(const float* x,
                      const float* y,
                      const float* z,
                      std::size_t n,
                      const CellSpan& list,
                      const KernelOptions& options,
                      Pull* pulls);
};

/// The sets that this processor can run, slowest first.
[[nodiscard]] const std::vector<const Kernels*>& available_kernels();
[[nodiscard]] const Kernels& best_kernels();

}  // namespace plait::particles
