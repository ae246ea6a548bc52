// SPDX-License-Identifier: Apache-2.0
// The short-range force, written once: Highway compiles this file for each kind of processor.
#include "plait/particle_mesh/detail/split_kernels.hpp"

#include <array>
#include <cstddef>

#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)  // as in gravity.cpp
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plait/particle_mesh/detail/split_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace plait::particles::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using SplitLanes = hn::CappedTag<T, list_padding>;
template <class T>
using SplitVec = hn::Vec<SplitLanes<T>>;

/// The sum of `terms[n]` x^n.
template <class T, std::size_t count>
HWY_INLINE SplitVec<T> polynomial(const std::array<double, count>& terms, SplitVec<T> x) {
  const SplitLanes<T> d;
  SplitVec<T> sum = hn::Set(d, static_cast<T>(terms[count - 1]));
  for (std::size_t n = count - 1; n-- > 0;) {
    sum = hn::MulAdd(sum, x, hn::Set(d, static_cast<T>(terms[n])));
  }
  return sum;
}

template <class T>
struct SplitPlace {
  T x, y, z;
};

/// A list of bodies, as one of both precisions has it.
template <class T>
struct SplitList {
  const T *x, *y, *z, *mass;
  std::size_t length;
};

template <class T>
HWY_INLINE SplitVec<T> nearest_image(SplitVec<T> difference, double period) {
  const SplitLanes<T> d;
  const auto length = hn::Set(d, static_cast<T>(period));
  const auto inverse = hn::Set(d, static_cast<T>(period > 0 ? 1 / period : 0));
  return hn::NegMulAdd(length, hn::Round(hn::Mul(difference, inverse)), difference);
}

template <class T>
HWY_INLINE void add_list(const SplitPlace<T>& at,
                         const SplitList<T>& list,
                         const KernelOptions& options,
                         const ForceSplit& split,
                         Pull& pull) {
  const SplitLanes<T> d;
  const auto zero = hn::Zero(d);
  const auto one = hn::Set(d, T{1});
  const auto cutoff2 = hn::Set(d, static_cast<T>(split.cutoff() * split.cutoff()));
  const auto to_x = hn::Set(d, static_cast<T>(2 / (split.cutoff() * split.cutoff())));
  const auto softening2 = hn::Set(d, static_cast<T>(options.softening2));
  SplitVec<T> sum_x = zero;
  SplitVec<T> sum_y = zero;
  SplitVec<T> sum_z = zero;
  SplitVec<T> sum_potential = zero;
  for (std::size_t j = 0; j < list.length; j += hn::Lanes(d)) {
    const auto dx = nearest_image<T>(hn::Sub(hn::Load(d, list.x + j), hn::Set(d, at.x)), options.period.x);
    const auto dy = nearest_image<T>(hn::Sub(hn::Load(d, list.y + j), hn::Set(d, at.y)), options.period.y);
    const auto dz = nearest_image<T>(hn::Sub(hn::Load(d, list.z + j), hn::Set(d, at.z)), options.period.z);
    const auto r2 = hn::MulAdd(dx, dx, hn::MulAdd(dy, dy, hn::Mul(dz, dz)));
    const auto mass = hn::IfThenElseZero(hn::Lt(r2, cutoff2), hn::Load(d, list.mass + j));
    const auto soft2 = hn::Add(r2, softening2);
    const auto inverse = hn::IfThenElseZero(hn::Gt(soft2, zero), hn::Div(one, hn::Sqrt(soft2)));
    const auto x = hn::Min(hn::MulSub(r2, to_x, one), one);
    const auto smooth = polynomial<T>(split.potential(), x);
    const auto smooth_force = polynomial<T>(split.force_over_r(), x);
    const auto force = hn::Mul(mass, hn::MulSub(hn::Mul(inverse, inverse), inverse, smooth_force));
    sum_x = hn::MulAdd(force, dx, sum_x);
    sum_y = hn::MulAdd(force, dy, sum_y);
    sum_z = hn::MulAdd(force, dz, sum_z);
    sum_potential = hn::MulAdd(mass, hn::Sub(inverse, smooth), sum_potential);
  }
  pull.x += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum_x)));
  pull.y += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum_y)));
  pull.z += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum_z)));
  pull.potential -= static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum_potential)));
}

void sum_short_range(const KernelWork& work, const ForceSplit& split) {
  const TargetSpan& targets = work.targets;
  const SplitList<double> bodies{work.bodies.x, work.bodies.y, work.bodies.z, work.bodies.mass, work.bodies.length};
  const auto list_of = [](const CellSpan& span) {
    return SplitList<float>{span.x, span.y, span.z, span.mass, span.length};
  };
  for (std::size_t i = 0; i < targets.count; ++i) {
    Pull& pull = targets.pulls[i];
    const SplitPlace<float> near{targets.near_x[i], targets.near_y[i], targets.near_z[i]};
    add_list(SplitPlace<double>{targets.x[i], targets.y[i], targets.z[i]}, bodies, work.options, split, pull);
    add_list(near, list_of(work.near_bodies), work.options, split, pull);
    add_list(near, list_of(work.cells), work.options, split, pull);
  }
}

}  // namespace plait::particles::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plait::particles {

HWY_EXPORT(sum_short_range);

namespace detail {

void sum_short_range(const KernelWork& work, const ForceSplit& split) {
  HWY_DYNAMIC_DISPATCH(sum_short_range)(work, split);
}

}  // namespace detail
}  // namespace plait::particles
#endif
