// SPDX-License-Identifier: Apache-2.0
// The short-range force, written once: Highway compiles this file for each kind of processor.
#include "plait/particle_mesh/detail/split_kernels.hpp"

#include <array>
#include <cstddef>
#include <numbers>

#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)  // as in gravity.cpp
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plait/particle_mesh/detail/split_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace plait::particles::HWY_NAMESPACE {

#include "plait/particles/trees/kernels/vectors.inc"

/// The sum of `terms[n]` x^n.
template <class T, std::size_t count>
HWY_INLINE Vec<T> polynomial(const std::array<T, count>& terms, Vec<T> x) {
  const Lanes<T> d;
  Vec<T> sum = hn::Set(d, terms[count - 1]);
  for (std::size_t n = count - 1; n-- > 0;) {
    sum = hn::MulAdd(sum, x, hn::Set(d, terms[n]));
  }
  return sum;
}

// ---- cells, and bodies in single precision ----

/// The potential of a cell is that of its moments M, Q and T in the potential B0(r) = erfc(r / 2s) / r. With
/// B(n + 1) = -B(n)' / r, and d from the target to the cell, it is -(M B0 + d.Q.d B2 / 6 + T e / 6), and the force
/// (M B1 + d.Q.d B3 / 6 + T e / 12 s^2) d - Q.d B2 / 3. Here e = (r^2 B1 - B0) / 2 s^2 is the Laplacian of B0, a
/// Gaussian, as Poisson's equation has it; B2 = (3 B1 + e) / r^2, and B3 = (5 B2 + e / 2 s^2) / r^2.
/// Source of the recursion: Smith, "Point multipoles in the Ewald summation", CCP5 Newsletter 46, 1998.
template <What kind, Reach reach>
struct ShortRange {
  static constexpr What what = kind;
  static constexpr bool has_trace = true;
  const ForceSplit& split;
  Vec<float> softening2, cutoff2, to_x, half_inverse_scale2;
  Bounds<float, reach> bounds;

  HWY_INLINE ShortRange(const ForceSplit& split_of_force, const KernelOptions& options)
      : split{split_of_force}, bounds{options, 0} {
    const Lanes<float> d;
    const double square = split.cutoff() * split.cutoff();
    softening2 = hn::Set(d, static_cast<float>(options.softening2));
    cutoff2 = hn::Set(d, static_cast<float>(square));
    to_x = hn::Set(d, static_cast<float>(2 / square));
    half_inverse_scale2 = hn::Set(d, static_cast<float>(1 / (2 * split.scale() * split.scale())));
  }

  HWY_INLINE void add(const Cells& cells, const Place& target, Sums<float>& sums) const {
    const Lanes<float> d;
    const Vec<float> one = hn::Set(d, 1.0F);
    const Vec<float> dx = bounds.nearest(hn::Sub(cells.x, hn::Set(d, target.x)), 0);
    const Vec<float> dy = bounds.nearest(hn::Sub(cells.y, hn::Set(d, target.y)), 1);
    const Vec<float> dz = bounds.nearest(hn::Sub(cells.z, hn::Set(d, target.z)), 2);
    const Vec<float> r2 = hn::MulAdd(dx, dx, hn::MulAdd(dy, dy, hn::Mul(dz, dz)));
    const Vec<float> soft2 = hn::Add(r2, softening2);
    const Vec<float> inverse = what == What::near_bodies ? inverse_root_or_zero(soft2) : inverse_root(soft2);
    const Vec<float> inverse2 = hn::Mul(inverse, inverse);
    const Vec<float> x = hn::Min(hn::MulSub(r2, to_x, one), one);
    const auto is_near = hn::Lt(r2, cutoff2);
    const Vec<float> smooth = polynomial<float>(split.single_potential(), x);
    const Vec<float> smooth_force = polynomial<float>(split.single_force_over_r(), x);
    const Vec<float> mass = hn::IfThenElseZero(is_near, cells.mass);
    const Vec<float> b1 = hn::MulSub(inverse2, inverse, smooth_force);
    Vec<float> radial = hn::Mul(mass, b1);
    sums.potential = hn::MulAdd(mass, hn::Sub(inverse, smooth), sums.potential);
    if constexpr (what == What::quadrupoles) {
      const QuadrupoleProduct q{cells, dx, dy, dz};
      const Vec<float> sixth = hn::IfThenElseZero(is_near, hn::Set(d, 1.0F / 6));
      const Vec<float> dqd = hn::Mul(sixth, hn::MulAdd(q.x, dx, hn::MulAdd(q.y, dy, hn::Mul(q.z, dz))));
      const Vec<float> trace = hn::Mul(sixth, cells.trace);
      // Without the parts of 1 / r, which cancel.
      const Vec<float> e = hn::Mul(half_inverse_scale2, hn::NegMulAdd(r2, smooth_force, smooth));
      const Vec<float> next_e = hn::Mul(half_inverse_scale2, e);
      const Vec<float> b2 = hn::Mul(inverse2, hn::MulAdd(hn::Set(d, 3.0F), b1, e));
      const Vec<float> b3 = hn::Mul(inverse2, hn::MulAdd(hn::Set(d, 5.0F), b2, next_e));
      sums.potential = hn::MulAdd(dqd, b2, hn::MulAdd(trace, e, sums.potential));
      radial = hn::MulAdd(dqd, b3, hn::MulAdd(trace, next_e, radial));
      const Vec<float> along = hn::Mul(hn::Add(sixth, sixth), b2);
      sums.x = hn::NegMulAdd(along, q.x, sums.x);
      sums.y = hn::NegMulAdd(along, q.y, sums.y);
      sums.z = hn::NegMulAdd(along, q.z, sums.z);
    }
    sums.x = hn::MulAdd(radial, dx, sums.x);
    sums.y = hn::MulAdd(radial, dy, sums.y);
    sums.z = hn::MulAdd(radial, dz, sums.z);
  }
};

template <What what>
void short_range_of(const KernelWork& work, const CellSpan& list, const ForceSplit& split) {
  if (reach_of(work.options, work.targets) == Reach::images) {
    all_moments(ShortRange<what, Reach::images>{split, work.options}, work.targets, list);
  } else {
    all_moments(ShortRange<what, Reach::cutoff>{split, work.options}, work.targets, list);
  }
}

// ---- bodies, in double precision ----

template <std::size_t targets>
HWY_INLINE void some_bodies(const TargetSpan& to, std::size_t first, const KernelWork& work, const ForceSplit& split) {
  const Lanes<double> d;
  const BodySpan& list = work.bodies;
  const Bounds<double, Reach::images> bounds{work.options, 0};
  const Vec<double> one = hn::Set(d, 1.0);
  const Vec<double> cutoff2 = hn::Set(d, split.cutoff() * split.cutoff());
  const Vec<double> to_x = hn::Set(d, 2 / (split.cutoff() * split.cutoff()));
  const Vec<double> softening2 = hn::Set(d, work.options.softening2);
  Sums<double> sums[targets];
  for (std::size_t j = 0; j < list.length; j += hn::Lanes(d)) {
    const Vec<double> xj = hn::Load(d, list.x + j);
    const Vec<double> yj = hn::Load(d, list.y + j);
    const Vec<double> zj = hn::Load(d, list.z + j);
    const Vec<double> mj = hn::Load(d, list.mass + j);
    for (std::size_t t = 0; t < targets; ++t) {
      const Vec<double> dx = bounds.nearest(hn::Sub(xj, hn::Set(d, to.x[first + t])), 0);
      const Vec<double> dy = bounds.nearest(hn::Sub(yj, hn::Set(d, to.y[first + t])), 1);
      const Vec<double> dz = bounds.nearest(hn::Sub(zj, hn::Set(d, to.z[first + t])), 2);
      const Vec<double> r2 = hn::MulAdd(dx, dx, hn::MulAdd(dy, dy, hn::Mul(dz, dz)));
      const Vec<double> mass = hn::IfThenElseZero(hn::Lt(r2, cutoff2), mj);
      const Vec<double> inverse = inverse_root_or_zero(hn::Add(r2, softening2));
      const Vec<double> x = hn::Min(hn::MulSub(r2, to_x, one), one);
      const Vec<double> smooth = polynomial<double>(split.potential(), x);
      const Vec<double> smooth_force = polynomial<double>(split.force_over_r(), x);
      const Vec<double> force = hn::Mul(mass, hn::MulSub(hn::Mul(inverse, inverse), inverse, smooth_force));
      sums[t].x = hn::MulAdd(force, dx, sums[t].x);
      sums[t].y = hn::MulAdd(force, dy, sums[t].y);
      sums[t].z = hn::MulAdd(force, dz, sums[t].z);
      sums[t].potential = hn::MulAdd(mass, hn::Sub(inverse, smooth), sums[t].potential);
    }
  }
  for (std::size_t t = 0; t < targets; ++t) {
    sums[t].add_to(to.pulls[first + t]);
  }
}

void sum_short_range(const KernelWork& work, const ForceSplit& split, Order order) {
  const TargetSpan& targets = work.targets;
  std::size_t i = 0;
  for (; i + together <= targets.count; i += together) {
    some_bodies<together>(targets, i, work, split);
  }
  for (; i < targets.count; ++i) {
    some_bodies<1>(targets, i, work, split);
  }
  short_range_of<What::near_bodies>(work, work.near_bodies, split);
  if (order == Order::quadrupole) {
    short_range_of<What::quadrupoles>(work, work.cells, split);
  } else {
    short_range_of<What::monopoles>(work, work.cells, split);
  }
}

}  // namespace plait::particles::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plait::particles {

HWY_EXPORT(sum_short_range);

namespace detail {

void sum_short_range(const KernelWork& work, const ForceSplit& split, Order order) {
  HWY_DYNAMIC_DISPATCH(sum_short_range)(work, split, order);
}

}  // namespace detail
}  // namespace plait::particles
#endif
