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

namespace hn = hwy::HWY_NAMESPACE;

/// The number of targets that use each loaded vector of sources.
constexpr std::size_t together = 4;

/// Lists are padded to this, and no vector may be longer.
template <class T>
using Lanes = hn::CappedTag<T, list_padding>;
template <class T>
using Vec = hn::Vec<Lanes<T>>;

/// An estimate, refined by Newton steps: from 12 or 14 bits on x86, from 8 on Arm, to all. An estimate with the
/// relative error e leaves -3/2 e^2: in the mean 1e-8 from 12 bits, a tenth of the rounding. A step of third order
/// would leave less, and takes an AVX2 kernel 14 % longer.
HWY_INLINE Vec<float> inverse_root(Vec<float> v) {
  const Lanes<float> d;
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  return hn::Div(hn::Set(d, 1.0F), hn::Sqrt(v));
#else
  constexpr int steps = HWY_ARCH_ARM ? 2 : 1;
  const Vec<float> half = hn::Mul(hn::Set(d, 0.5F), v);
  Vec<float> y = hn::ApproximateReciprocalSqrt(v);
  for (int step = 0; step < steps; ++step) {
    y = hn::Mul(y, hn::NegMulAdd(hn::Mul(half, y), y, hn::Set(d, 1.5F)));
  }
  return y;
#endif
}

/// 0 where `v` is 0: the interaction of a body with itself.
HWY_INLINE Vec<float> inverse_root_or_zero(Vec<float> v) {
  const Lanes<float> d;
  return hn::IfThenElseZero(hn::Gt(v, hn::Set(d, 1e-37F)), inverse_root(v));
}

HWY_INLINE Vec<double> inverse_root_or_zero(Vec<double> v) {
  const Lanes<double> d;
  const auto some = hn::Gt(v, hn::Zero(d));
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  // 14 bits, refined by a step of third order to 6e-13. Equal for both partners of a pair, which conserves momentum.
  const Vec<double> y = hn::IfThenElseZero(some, Vec<double>{_mm512_rsqrt14_pd(v.raw)});
  const Vec<double> e = hn::NegMulAdd(hn::Mul(v, y), y, hn::Set(d, 1.0));
  return hn::MulAdd(hn::Mul(y, e), hn::MulAdd(hn::Set(d, 0.375), e, hn::Set(d, 0.5)), y);
#else
  return hn::IfThenElseZero(some, hn::Div(hn::Set(d, 1.0), hn::Sqrt(v)));
#endif
}

template <class T>
HWY_INLINE double sum(Vec<T> v) {
  return static_cast<double>(hn::GetLane(hn::SumOfLanes(Lanes<T>{}, v)));
}

template <class T>
struct Sums {
  Vec<T> x, y, z;
  Vec<T> potential;  ///< Positive.

  /// User-provided: a defaulted constructor is not compiled for the target processor.
  HWY_INLINE Sums() : x{hn::Zero(Lanes<T>{})}, y{x}, z{x}, potential{x} {}
  HWY_INLINE void add_to(Pull& pull) const {
    pull.x += sum<T>(x);
    pull.y += sum<T>(y);
    pull.z += sum<T>(z);
    pull.potential -= sum<T>(potential);
  }
};

/// Nearest images along periodic axes, and the cut-off.
template <class T, bool bounded>
struct Bounds {
  Vec<T> period[3];
  Vec<T> inverse_period[3];
  Vec<T> cutoff2;

  HWY_INLINE explicit Bounds(const KernelOptions& options, double softening2) {
    const Lanes<T> d;
    const double periods[3] = {options.period.x, options.period.y, options.period.z};
    for (int axis = 0; axis < 3; ++axis) {
      period[axis] = hn::Set(d, static_cast<T>(periods[axis]));
      inverse_period[axis] = hn::Set(d, static_cast<T>(periods[axis] > 0 ? 1 / periods[axis] : 0));
    }
    cutoff2 = hn::Set(d, static_cast<T>(options.cutoff2 + softening2));
  }
  HWY_INLINE Vec<T> nearest(Vec<T> difference, int axis) const {
    if constexpr (bounded) {
      return hn::NegMulAdd(period[axis], hn::Round(hn::Mul(difference, inverse_period[axis])), difference);
    } else {
      return difference;
    }
  }
  HWY_INLINE Vec<T> zero_beyond(Vec<T> value, Vec<T> r2) const {
    if constexpr (bounded) {
      return hn::IfThenElseZero(hn::Lt(r2, cutoff2), value);
    } else {
      return value;
    }
  }
};

// ---- bodies, in double precision ----

struct BodyTargets {
  const double *x, *y, *z;
  Pull* pulls;
  std::uint32_t* near;
};

template <bool contacts, bool bounded, std::size_t targets>
HWY_INLINE void some_bodies(const BodyTargets& to, const BodySpan& list, const KernelOptions& options) {
  const Lanes<double> d;
  const Vec<double> softening2 = hn::Set(d, options.softening2);
  const Vec<double> contact2 = hn::Set(d, options.contact2);
  const Bounds<double, bounded> bounds{options, 0};
  Sums<double> sums[targets];
  std::size_t counts[targets] = {};
  for (std::size_t j = 0; j < list.length; j += hn::Lanes(d)) {
    const Vec<double> xj = hn::Load(d, list.x + j);
    const Vec<double> yj = hn::Load(d, list.y + j);
    const Vec<double> zj = hn::Load(d, list.z + j);
    const Vec<double> mass = hn::Load(d, list.mass + j);
    for (std::size_t t = 0; t < targets; ++t) {
      const Vec<double> dx = bounds.nearest(hn::Sub(xj, hn::Set(d, to.x[t])), 0);
      const Vec<double> dy = bounds.nearest(hn::Sub(yj, hn::Set(d, to.y[t])), 1);
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

template <bool contacts, bool bounded>
void all_bodies(const BodyTargets& to, std::size_t n, const BodySpan& list, const KernelOptions& options) {
  const auto from = [&to](std::size_t i) {
    return BodyTargets{to.x + i, to.y + i, to.z + i, to.pulls + i, to.near + i};
  };
  std::size_t i = 0;
  for (; i + together <= n; i += together) {
    some_bodies<contacts, bounded, together>(from(i), list, options);
  }
  for (; i < n; ++i) {
    some_bodies<contacts, bounded, 1>(from(i), list, options);
  }
}

void bodies(const TargetSpan& targets, const BodySpan& list, const KernelOptions& options, std::uint32_t* near) {
  const BodyTargets to{targets.x, targets.y, targets.z, targets.pulls, near};
  const bool is_bounded = options.is_bounded();
  const auto all = options.contact2 > 0 ? (is_bounded ? all_bodies<true, true> : all_bodies<true, false>)
                                        : (is_bounded ? all_bodies<false, true> : all_bodies<false, false>);
  all(to, targets.count, list, options);
}

// ---- moments, and bodies in single precision; sums go to double after each block ----

enum class What { near_bodies, monopoles, dipoles, quadrupoles };

constexpr std::size_t block = 1024;

struct Cells {
  Vec<float> x, y, z, mass, xx, xy, xz, yy, yz, px, py, pz;

  HWY_INLINE Cells() {}  // NOLINT(modernize-use-equals-default): as that of `Sums`

  template <What what>
  HWY_INLINE void load(const CellSpan& list, std::size_t j) {
    const Lanes<float> d;
    x = hn::Load(d, list.x + j);
    y = hn::Load(d, list.y + j);
    z = hn::Load(d, list.z + j);
    mass = hn::Load(d, list.mass + j);
    if constexpr (what == What::dipoles) {
      px = hn::Load(d, list.px + j);
      py = hn::Load(d, list.py + j);
      pz = hn::Load(d, list.pz + j);
    }
    if constexpr (what == What::quadrupoles) {
      xx = hn::Load(d, list.xx + j);
      xy = hn::Load(d, list.xy + j);
      xz = hn::Load(d, list.xz + j);
      yy = hn::Load(d, list.yy + j);
      yz = hn::Load(d, list.yz + j);
    }
  }
};

struct Place {
  float x, y, z;
};

/// Entries [begin, end) of a list.
struct Part {
  std::size_t begin, end;
};

/// With d from body to cell: a = (M / r^3 + 5/2 d.Q.d / r^7) d - Q.d / r^5, pot = -M / r - d.Q.d / (2 r^5). Dipoles:
/// a = p / r^3 - 3 p.d d / r^5, pot = p.d / r^3.
template <What what, bool bounded>
HWY_INLINE void add(const Cells& cells,
                    const Place& target,
                    Vec<float> softening2,
                    const Bounds<float, bounded>& bounds,
                    Sums<float>& sums) {
  const Lanes<float> d;
  const Vec<float> dx = bounds.nearest(hn::Sub(cells.x, hn::Set(d, target.x)), 0);
  const Vec<float> dy = bounds.nearest(hn::Sub(cells.y, hn::Set(d, target.y)), 1);
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
    const Vec<float> zz = hn::Add(cells.xx, cells.yy);  // its negative
    const Vec<float> qx = hn::MulAdd(cells.xx, dx, hn::MulAdd(cells.xy, dy, hn::Mul(cells.xz, dz)));
    const Vec<float> qy = hn::MulAdd(cells.xy, dx, hn::MulAdd(cells.yy, dy, hn::Mul(cells.yz, dz)));
    const Vec<float> qz = hn::NegMulAdd(zz, dz, hn::MulAdd(cells.xz, dx, hn::Mul(cells.yz, dy)));
    const Vec<float> inverse5 = hn::Mul(hn::Mul(inverse2, inverse2), inverse);
    const Vec<float> dqd = hn::MulAdd(qx, dx, hn::MulAdd(qy, dy, hn::Mul(qz, dz)));
    const Vec<float> half = hn::Mul(hn::Mul(hn::Set(d, 0.5F), inverse5), dqd);
    sums.potential = hn::Add(sums.potential, half);
    radial = hn::MulAdd(hn::Mul(hn::Set(d, 5.0F), half), inverse2, radial);
    sums.x = hn::NegMulAdd(inverse5, qx, sums.x);
    sums.y = hn::NegMulAdd(inverse5, qy, sums.y);
    sums.z = hn::NegMulAdd(inverse5, qz, sums.z);
  }
  sums.x = hn::MulAdd(radial, dx, sums.x);
  sums.y = hn::MulAdd(radial, dy, sums.y);
  sums.z = hn::MulAdd(radial, dz, sums.z);
}

template <What what, bool bounded, std::size_t targets>
HWY_INLINE void some_moments(
    const Place* places, const CellSpan& list, Part part, const KernelOptions& options, Pull* pulls) {
  const Lanes<float> d;
  const Vec<float> softening2 = hn::Set(d, static_cast<float>(options.softening2));
  const Bounds<float, bounded> bounds{options, options.softening2};
  Sums<float> sums[targets];
  for (std::size_t j = part.begin; j < part.end; j += hn::Lanes(d)) {
    Cells cells;
    cells.load<what>(list, j);
    for (std::size_t t = 0; t < targets; ++t) {
      add<what>(cells, places[t], softening2, bounds, sums[t]);
    }
  }
  for (std::size_t t = 0; t < targets; ++t) {
    sums[t].add_to(pulls[t]);
  }
}

template <What what, bool bounded>
void all_moments(const TargetSpan& to, const CellSpan& list, const KernelOptions& options) {
  for (std::size_t begin = 0; begin < list.length; begin += block) {
    const Part part{begin, list.length - begin < block ? list.length : begin + block};
    std::size_t i = 0;
    for (; i + together <= to.count; i += together) {
      Place places[together];
      for (std::size_t t = 0; t < together; ++t) {
        places[t] = {to.near_x[i + t], to.near_y[i + t], to.near_z[i + t]};
      }
      some_moments<what, bounded, together>(places, list, part, options, to.pulls + i);
    }
    for (; i < to.count; ++i) {
      const Place place{to.near_x[i], to.near_y[i], to.near_z[i]};
      some_moments<what, bounded, 1>(&place, list, part, options, to.pulls + i);
    }
  }
}

template <What what>
void moments(const TargetSpan& targets, const CellSpan& list, const KernelOptions& options) {
  const auto all = options.is_bounded() ? all_moments<what, true> : all_moments<what, false>;
  all(targets, list, options);
}

const Kernels* kernels() {
  static const Kernels named{hwy::TargetName(HWY_TARGET),
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
