// SPDX-License-Identifier: Apache-2.0
// The force kernels, written once: Highway compiles this file for each kind of processor.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "plait/particles/trees/kernels/kernel.hpp"

// Vectors of these have no size while compiling, also where the length is known (SVE_256, SVE2_128): no members.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plait/particles/trees/kernels/gravity.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace plait::particles::HWY_NAMESPACE {

#include "plait/particles/trees/kernels/vectors.inc"

// ---- bodies, in double precision ----

struct BodyTargets {
  const double *x, *y, *z;
  Pull* pulls;
  std::uint32_t* near;
};

template <bool contacts, Reach reach, std::size_t targets>
HWY_INLINE void some_bodies(const BodyTargets& to, const BodySpan& list, const KernelOptions& options) {
  const Lanes<double> d;
  const Vec<double> softening2 = hn::Set(d, options.softening2);
  const Vec<double> contact2 = hn::Set(d, options.contact2);
  const Bounds<double, reach> bounds{options, 0};
  Sums<double> sums[targets];
  std::size_t counts[targets] = {};
  for (std::size_t j = 0; j < list.length; j += hn::Lanes(d)) {
    const Vec<double> xj = hn::Load(d, list.x + j);
    const Vec<double> yj = hn::Load(d, list.y + j);
    const Vec<double> zj = hn::Load(d, list.z + j);
    const Vec<double> mass = hn::Load(d, list.mass + j);
    for (std::size_t t = 0; t < targets; ++t) {
      Vec<double> dy = hn::Sub(yj, hn::Set(d, to.y[t]));
      const Vec<double> dx = bounds.nearest_x(hn::Sub(xj, hn::Set(d, to.x[t])), dy);
      dy = bounds.nearest(dy, 1);
      const Vec<double> dz = bounds.nearest(hn::Sub(zj, hn::Set(d, to.z[t])), 2);
      const Vec<double> distance2 = hn::MulAdd(dx, dx, hn::MulAdd(dy, dy, hn::Mul(dz, dz)));
      Vec<double> r2 = distance2;
      if constexpr (contacts) {
        counts[t] += hn::CountTrue(d, hn::Lt(r2, contact2));
        r2 = hn::Max(r2, contact2);
      }
      const Vec<double> inverse = bounds.zero_beyond(inverse_root_or_zero(hn::Add(r2, softening2)), distance2);
      const Vec<double> over_r = hn::Mul(mass, inverse);
      const Vec<double> over_r3 = hn::Mul(over_r, hn::Mul(inverse, inverse));
      sums[t].x = hn::MulAdd(over_r3, dx, sums[t].x);
      sums[t].y = hn::MulAdd(over_r3, dy, sums[t].y);
      sums[t].z = hn::MulAdd(over_r3, dz, sums[t].z);
      sums[t].potential = hn::Add(sums[t].potential, over_r);
    }
  }
  for (std::size_t t = 0; t < targets; ++t) {
    sums[t].add_to(to.pulls[t]);
    if constexpr (contacts) {
      to.near[t] += static_cast<std::uint32_t>(counts[t]);
    }
  }
}

template <bool contacts, Reach reach>
void all_bodies(const BodyTargets& to, std::size_t n, const BodySpan& list, const KernelOptions& options) {
  const auto from = [&to](std::size_t i) {
    return BodyTargets{to.x + i, to.y + i, to.z + i, to.pulls + i, to.near + i};
  };
  std::size_t i = 0;
  for (; i + together <= n; i += together) {
    some_bodies<contacts, reach, together>(from(i), list, options);
  }
  for (; i < n; ++i) {
    some_bodies<contacts, reach, 1>(from(i), list, options);
  }
}

void bodies(const TargetSpan& targets, const BodySpan& list, const KernelOptions& options, std::uint32_t* near) {
  const BodyTargets to{targets.x, targets.y, targets.z, targets.pulls, near};
  const bool is_bounded = options.is_bounded();
  constexpr Reach bounded = Reach::images;
  const auto all = options.contact2 > 0 ? (is_bounded ? all_bodies<true, bounded> : all_bodies<true, Reach::all>)
                                        : (is_bounded ? all_bodies<false, bounded> : all_bodies<false, Reach::all>);
  all(to, targets.count, list, options);
}

// ---- moments, and bodies in single precision ----

/// With d from body to cell: a = (M / r^3 + 5/2 d.Q.d / r^7) d - Q.d / r^5, pot = -M / r - d.Q.d / (2 r^5). Dipoles:
/// a = p / r^3 - 3 p.d d / r^5, pot = p.d / r^3.
template <What kind, Reach reach>
struct Gravity {
  static constexpr What what = kind;
  static constexpr bool has_trace = false;  // 1 / r is harmonic
  Vec<float> softening2;
  Bounds<float, reach> bounds;

  HWY_INLINE explicit Gravity(const KernelOptions& options)
      : softening2{hn::Set(Lanes<float>{}, static_cast<float>(options.softening2))},
        bounds{options, options.softening2} {}

  HWY_INLINE void add(const Cells& cells, const Place& target, Sums<float>& sums) const {
    const Lanes<float> d;
    Vec<float> dy = hn::Sub(cells.y, hn::Set(d, target.y));
    const Vec<float> dx = bounds.nearest_x(hn::Sub(cells.x, hn::Set(d, target.x)), dy);
    dy = bounds.nearest(dy, 1);
    const Vec<float> dz = bounds.nearest(hn::Sub(cells.z, hn::Set(d, target.z)), 2);
    const Vec<float> r2 = hn::MulAdd(dx, dx, hn::MulAdd(dy, dy, hn::MulAdd(dz, dz, softening2)));
    const Vec<float> inverse =
        bounds.zero_beyond(what == What::near_bodies ? inverse_root_or_zero(r2) : inverse_root(r2), r2);
    const Vec<float> inverse2 = hn::Mul(inverse, inverse);
    if constexpr (what == What::dipoles) {
      const Vec<float> inverse3 = hn::Mul(inverse, inverse2);
      const Vec<float> pd = hn::MulAdd(cells.px, dx, hn::MulAdd(cells.py, dy, hn::Mul(cells.pz, dz)));
      const Vec<float> along = hn::Mul(hn::Mul(hn::Set(d, -3.0F), inverse2), hn::Mul(inverse3, pd));
      sums.potential = hn::NegMulAdd(inverse3, pd, sums.potential);
      sums.x = hn::MulAdd(along, dx, hn::MulAdd(inverse3, cells.px, sums.x));
      sums.y = hn::MulAdd(along, dy, hn::MulAdd(inverse3, cells.py, sums.y));
      sums.z = hn::MulAdd(along, dz, hn::MulAdd(inverse3, cells.pz, sums.z));
      return;
    }
    const Vec<float> mass_over_r = hn::Mul(cells.mass, inverse);
    Vec<float> radial = hn::Mul(mass_over_r, inverse2);
    sums.potential = hn::Add(sums.potential, mass_over_r);
    if constexpr (what == What::quadrupoles) {
      const QuadrupoleProduct q{cells, dx, dy, dz};
      const Vec<float> inverse5 = hn::Mul(hn::Mul(inverse2, inverse2), inverse);
      const Vec<float> dqd = hn::MulAdd(q.x, dx, hn::MulAdd(q.y, dy, hn::Mul(q.z, dz)));
      const Vec<float> half = hn::Mul(hn::Mul(hn::Set(d, 0.5F), inverse5), dqd);
      sums.potential = hn::Add(sums.potential, half);
      radial = hn::MulAdd(hn::Mul(hn::Set(d, 5.0F), half), inverse2, radial);
      sums.x = hn::NegMulAdd(inverse5, q.x, sums.x);
      sums.y = hn::NegMulAdd(inverse5, q.y, sums.y);
      sums.z = hn::NegMulAdd(inverse5, q.z, sums.z);
    }
    sums.x = hn::MulAdd(radial, dx, sums.x);
    sums.y = hn::MulAdd(radial, dy, sums.y);
    sums.z = hn::MulAdd(radial, dz, sums.z);
  }
};

template <What what, Reach reach>
void gravity_of(const TargetSpan& targets, const CellSpan& list, const KernelOptions& options) {
  all_moments(Gravity<what, reach>{options}, targets, list);
}

template <What what>
void moments(const TargetSpan& targets, const CellSpan& list, const KernelOptions& options) {
  switch (reach_of(options, targets)) {
    case Reach::all:
      return gravity_of<what, Reach::all>(targets, list, options);
    case Reach::cutoff:
      return gravity_of<what, Reach::cutoff>(targets, list, options);
    case Reach::images:
      return gravity_of<what, Reach::images>(targets, list, options);
  }
}

const Kernels* kernels() {
  static const Kernels named{hwy::TargetName(HWY_TARGET),
                             hn::Lanes(Lanes<float>{}),
                             &bodies,
                             &moments<What::near_bodies>,
                             &moments<What::monopoles>,
                             &moments<What::quadrupoles>,
                             &moments<What::dipoles>};
  return &named;
}

}  // namespace plait::particles::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plait::particles {

HWY_EXPORT(kernels);

const std::vector<const Kernels*>& available_kernels() {
  static const std::vector<const Kernels*> sets = [] {
    std::vector<const Kernels*> found;
    // In Highway's order the best target is the lowest bit.
    for (std::int64_t left = hwy::SupportedTargets() & HWY_TARGETS; left != 0; left &= left - 1) {
      hwy::ChosenTarget one;
      one.Update(left & -left);
      found.insert(found.begin(), HWY_DISPATCH_TABLE(kernels)[one.GetIndex()]());
    }
    return found;
  }();
  return sets;
}

}  // namespace plait::particles
#endif
