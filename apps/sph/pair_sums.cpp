// SPDX-License-Identifier: Apache-2.0
#include "sph/pair_sums.hpp"

#include <array>
#include <cstdint>

#include "plait/base/error.hpp"

// Highway compiles this file once per instruction set. Vectors of those disabled have no size at compile time, also
// where the length is known (SVE_256, SVE2_128): they cannot be members.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sph/pair_sums.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sph::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Lanes = hn::ScalableTag<float>;
using Floats = hn::Vec<Lanes>;
using Indices = hn::Vec<hn::RebindToSigned<Lanes>>;

/// Indices of sources within reach of a target. Most candidates are not: the loops first collect those that are, then
/// compute with full vectors.
struct Near {
  static constexpr std::size_t capacity = 1024;
  alignas(64) std::array<std::int32_t, capacity + 64> index;
  std::size_t count = 0;
};

/// The kernel at a distance in units of the support, without normalisation, which is applied to sums.
struct Shape {
  Floats w;
  Floats slope;  ///< dw/dq.
};

template <KernelKind kind>
HWY_INLINE Shape shape_at(Floats q) {
  const Lanes d;
  const Floats zero = hn::Zero(d);
  const Floats outer = hn::Max(hn::Sub(hn::Set(d, 1.0F), q), zero);
  const Floats outer2 = hn::Mul(outer, outer);
  if constexpr (kind == KernelKind::wendland_c2) {
    const Floats w = hn::Mul(hn::Mul(outer2, outer2), hn::MulAdd(hn::Set(d, 4.0F), q, hn::Set(d, 1.0F)));
    const Floats slope = hn::Mul(hn::Mul(hn::Set(d, -20.0F), q), hn::Mul(outer2, outer));
    return {w, slope};
  } else {
    const Floats inner = hn::Max(hn::Sub(hn::Set(d, 0.5F), q), zero);
    const Floats inner2 = hn::Mul(inner, inner);
    const Floats w =
        hn::MulSub(hn::Mul(hn::Set(d, 2.0F), outer2), outer, hn::Mul(hn::Mul(hn::Set(d, 8.0F), inner2), inner));
    const Floats slope = hn::MulSub(hn::Set(d, 24.0F), inner2, hn::Mul(hn::Set(d, 6.0F), outer2));
    return {w, slope};
  }
}

template <KernelKind kind>
constexpr float norm_of() {
  return kind == KernelKind::wendland_c2 ? 3.3422538F : 2.5464791F;  // 21/(2 pi), 8/pi
}

/// Appends the sources from `first` on within the squared reach, which may depend on the source. Returns where it
/// stopped: at the end of the sources, or when `near` is full.
template <class Reach2>
HWY_INLINE std::size_t find_near(
    const DensityTarget& target, const DensitySources& sources, std::size_t first, Near& near, const Reach2& reach2) {
  const Lanes d;
  const hn::RebindToSigned<Lanes> di;
  const Floats x = hn::Set(d, target.x);
  const Floats y = hn::Set(d, target.y);
  const Floats z = hn::Set(d, target.z);
  std::size_t i = first;
  for (; i < sources.count && near.count + hn::Lanes(d) <= Near::capacity; i += hn::Lanes(d)) {
    const Floats dx = hn::Sub(x, hn::LoadU(d, sources.x + i));
    const Floats dy = hn::Sub(y, hn::LoadU(d, sources.y + i));
    const Floats dz = hn::Sub(z, hn::LoadU(d, sources.z + i));
    const Floats r2 = hn::MulAdd(dx, dx, hn::MulAdd(dy, dy, hn::Mul(dz, dz)));
    const auto is_near = hn::RebindMask(di, hn::Lt(r2, reach2(i)));
    near.count +=
        hn::CompressStore(hn::Iota(di, static_cast<std::int32_t>(i)), is_near, di, near.index.data() + near.count);
  }
  return i;
}

/// Calls `add(indices, is_there)` for all indices, one vector at a time, and clears them. The last vector is filled up
/// with source 0, for which `is_there` is false.
template <class Add>
HWY_INLINE void use_near(Near& near, const Add& add) {
  const Lanes d;
  const hn::RebindToSigned<Lanes> di;
  const std::size_t lanes = hn::Lanes(d);
  hn::StoreU(hn::Zero(di), di, near.index.data() + near.count);
  for (std::size_t i = 0; i < near.count; i += lanes) {
    add(hn::LoadU(di, near.index.data() + i), hn::FirstN(d, near.count - i));
  }
  near.count = 0;
}

template <KernelKind kind>
DensitySums density_of(const DensityTarget& target, const DensitySources& sources) {
  const Lanes d;
  const float support = support_ratio(kind) * target.smoothing;
  const float inverse = 1 / support;
  const Floats inverse_support = hn::Set(d, inverse);
  const Floats tiny = hn::Set(d, 1e-30F);
  Floats number = hn::Zero(d), number_slope = number, density = number, density_slope = number;
  Floats divergence = number, curl_x = number, curl_y = number, curl_z = number;
  const auto add = [&](Indices index, hn::Mask<Lanes> is_there) HWY_ATTR {
    const Floats dx = hn::Sub(hn::Set(d, target.x), hn::GatherIndex(d, sources.x, index));
    const Floats dy = hn::Sub(hn::Set(d, target.y), hn::GatherIndex(d, sources.y, index));
    const Floats dz = hn::Sub(hn::Set(d, target.z), hn::GatherIndex(d, sources.z, index));
    const Floats ux = hn::Sub(hn::Set(d, target.velocity_x), hn::GatherIndex(d, sources.velocity_x, index));
    const Floats uy = hn::Sub(hn::Set(d, target.velocity_y), hn::GatherIndex(d, sources.velocity_y, index));
    const Floats uz = hn::Sub(hn::Set(d, target.velocity_z), hn::GatherIndex(d, sources.velocity_z, index));
    const Floats mass = hn::IfThenElseZero(is_there, hn::GatherIndex(d, sources.mass, index));
    const Floats r2 = hn::Max(hn::MulAdd(dx, dx, hn::MulAdd(dy, dy, hn::Mul(dz, dz))), tiny);
    const Floats r = hn::Sqrt(r2);
    const Floats q = hn::Mul(r, inverse_support);
    Shape shape = shape_at<kind>(q);
    const auto is_real = hn::Gt(mass, hn::Zero(d));
    shape.w = hn::IfThenElseZero(is_real, shape.w);
    shape.slope = hn::IfThenElseZero(is_real, shape.slope);
    const Floats change = hn::MulAdd(hn::Set(d, 3.0F), shape.w, hn::Mul(q, shape.slope));
    number = hn::Add(number, shape.w);
    number_slope = hn::Sub(number_slope, change);
    density = hn::MulAdd(mass, shape.w, density);
    density_slope = hn::NegMulAdd(mass, change, density_slope);
    const Floats pull = hn::Div(hn::Mul(mass, shape.slope), r);
    const Floats approach = hn::MulAdd(ux, dx, hn::MulAdd(uy, dy, hn::Mul(uz, dz)));
    divergence = hn::NegMulAdd(pull, approach, divergence);
    curl_x = hn::MulAdd(pull, hn::MulSub(uy, dz, hn::Mul(uz, dy)), curl_x);
    curl_y = hn::MulAdd(pull, hn::MulSub(uz, dx, hn::Mul(ux, dz)), curl_y);
    curl_z = hn::MulAdd(pull, hn::MulSub(ux, dy, hn::Mul(uy, dx)), curl_z);
  };
  const Floats support2 = hn::Set(d, support * support);
  Near near;
  for (std::size_t i = 0; i < sources.count;) {
    i = find_near(target, sources, i, near, [&](std::size_t) HWY_ATTR { return support2; });
    use_near(near, add);
  }
  const auto total = [&](Floats sum, float factor) HWY_ATTR { return factor * hn::GetLane(hn::SumOfLanes(d, sum)); };
  const float norm = norm_of<kind>() * inverse * inverse * inverse;
  const float by_h = norm / target.smoothing;  // dW/dh = dW/dH H/h, and 1/H of dW/dH is in it
  return {.number = total(number, norm),
          .number_slope = total(number_slope, by_h),
          .density = total(density, norm),
          .density_slope = total(density_slope, by_h),
          .divergence = total(divergence, norm * inverse),
          .curl_x = total(curl_x, norm * inverse),
          .curl_y = total(curl_y, norm * inverse),
          .curl_z = total(curl_z, norm * inverse)};
}

void sum_density(KernelKind kernel,
                 std::span<const DensityTarget> targets,
                 const DensitySources& sources,
                 DensitySums* sums) {
  for (std::size_t i = 0; i < targets.size(); ++i) {
    sums[i] = kernel == KernelKind::cubic_spline ? density_of<KernelKind::cubic_spline>(targets[i], sources)
                                                 : density_of<KernelKind::wendland_c2>(targets[i], sources);
  }
}

/// Values of the equation of state for the forces of one target.
struct StateOf {
  Floats pressure;
  Floats sound;
  Floats push;  ///< f P / rho^2.
};
HWY_INLINE StateOf state_of(float gamma, Floats density, Floats grad_h, Floats energy) {
  const Lanes d;
  const Floats scaled = hn::Mul(hn::Set(d, gamma - 1), energy);
  return {hn::Mul(scaled, density),
          hn::Sqrt(hn::Mul(hn::Set(d, gamma), scaled)),
          hn::Div(hn::Mul(grad_h, scaled), density)};
}

/// Values of a target and a source for the conduction between them.
struct Contact {
  Floats density;  ///< Of the source, like `other`.
  StateOf other;
  Floats radial_speed;
  Floats hotter;              ///< Specific energy of the target less that of the source.
  Floats slope, slope_other;  ///< dW/dr with either's support.
};

/// Sums of one target, as vectors.
struct ForceVectors {
  Floats x = hn::Zero(Lanes{}), y = x, z = x, energy_rate = x, compression = x, laplacian = x, signal = x;
};

template <KernelKind kind>
struct ForceLoop {
  const Scheme& scheme;
  const ForceTarget& target;
  const ForceSources& sources;
  float support = support_ratio(kind) * target.smoothing;
  StateOf own = state_of(
      scheme.gamma, hn::Set(Lanes{}, target.density), hn::Set(Lanes{}, target.grad_h), hn::Set(Lanes{}, target.energy));
  ForceVectors sums;

  HWY_INLINE void add(Indices index, hn::Mask<Lanes> is_there) {
    const Lanes d;
    const auto half = hn::Set(d, 0.5F);
    const auto from = [&](const float* property) HWY_ATTR { return hn::GatherIndex(d, property, index); };
    const Floats dx = hn::Sub(hn::Set(d, target.x), from(sources.x));
    const Floats dy = hn::Sub(hn::Set(d, target.y), from(sources.y));
    const Floats dz = hn::Sub(hn::Set(d, target.z), from(sources.z));
    const Floats ux = hn::Sub(hn::Set(d, target.velocity_x), from(sources.velocity_x));
    const Floats uy = hn::Sub(hn::Set(d, target.velocity_y), from(sources.velocity_y));
    const Floats uz = hn::Sub(hn::Set(d, target.velocity_z), from(sources.velocity_z));
    const Floats r2 = hn::MulAdd(dx, dx, hn::MulAdd(dy, dy, hn::Mul(dz, dz)));
    Floats mass = from(sources.mass);
    // Padding, the target itself and particles at its position do not act.
    const auto acts = hn::And(is_there, hn::And(hn::Gt(r2, hn::Zero(d)), hn::Gt(mass, hn::Zero(d))));
    mass = hn::IfThenElseZero(acts, mass);
    const Floats r = hn::IfThenElse(acts, hn::Sqrt(r2), hn::Set(d, 1.0F));
    const Floats one_over_r = hn::Div(hn::Set(d, 1.0F), r);
    const Floats density = hn::IfThenElse(acts, from(sources.density), hn::Set(d, 1.0F));
    const Floats energy = from(sources.energy);
    const StateOf other = state_of(scheme.gamma, density, from(sources.grad_h), energy);

    const Floats slope = kernel_slope(r, hn::Set(d, 1 / support));
    const Floats slope_other = kernel_slope(
        r, hn::Div(hn::Set(d, 1 / support_ratio(kind)), hn::IfThenElse(acts, from(sources.smoothing), half)));
    const Floats approach = hn::MulAdd(ux, dx, hn::MulAdd(uy, dy, hn::Mul(uz, dz)));
    const Floats mu = hn::Mul(hn::Min(approach, hn::Zero(d)), one_over_r);
    const Floats signal = hn::NegMulAdd(hn::Set(d, 3.0F), mu, hn::Add(own.sound, other.sound));
    sums.signal = hn::Max(sums.signal, hn::IfThenElseZero(acts, signal));

    // -1/2 alpha mu v_sig / rho, alpha and rho the means of both, times the mean slope.
    const Floats alpha = hn::Mul(half, hn::Add(hn::Set(d, target.viscosity), from(sources.viscosity)));
    const Floats both = hn::Add(hn::Set(d, target.density), density);
    const Floats drag = hn::Div(hn::Mul(hn::Mul(alpha, hn::Neg(mu)), signal), both);
    const Floats viscous = hn::Mul(drag, hn::Mul(half, hn::Add(slope, slope_other)));
    const Floats push = hn::MulAdd(own.push, slope, hn::Mul(other.push, slope_other));
    const Floats force = hn::Mul(hn::Mul(mass, hn::Add(push, viscous)), one_over_r);
    sums.x = hn::NegMulAdd(force, dx, sums.x);
    sums.y = hn::NegMulAdd(force, dy, sums.y);
    sums.z = hn::NegMulAdd(force, dz, sums.z);

    const Floats work = hn::Mul(hn::MulAdd(own.push, slope, hn::Mul(half, viscous)), hn::Mul(approach, one_over_r));
    const Floats hotter = hn::Sub(hn::Set(d, target.energy), energy);
    sums.energy_rate = hn::MulAdd(
        mass,
        hn::Add(work, conducted(index, {density, other, hn::Mul(approach, one_over_r), hotter, slope, slope_other})),
        sums.energy_rate);
    const Floats volume_slope = hn::Div(hn::Mul(mass, slope), hn::Mul(density, r));
    sums.compression = hn::MulAdd(volume_slope, approach, sums.compression);
    sums.laplacian = hn::MulAdd(hn::Add(volume_slope, volume_slope), hotter, sums.laplacian);
  }

  /// Heating by conduction per unit of the source's mass (Borrow et al. 2022, eq. 27 to 29).
  HWY_INLINE Floats conducted(Indices index, const Contact& pair) {
    const Lanes d;
    const Floats own_density = hn::Set(d, target.density);
    const Floats pressures = hn::Max(hn::Add(own.pressure, pair.other.pressure), hn::Set(d, 1e-30F));
    const Floats strength =
        hn::Div(hn::MulAdd(own.pressure,
                           hn::Set(d, target.conduction),
                           hn::Mul(pair.other.pressure, hn::GatherIndex(d, sources.conduction, index))),
                pressures);
    const Floats jump =
        hn::Div(hn::Abs(hn::Sub(own.pressure, pair.other.pressure)), hn::Add(own_density, pair.density));
    const Floats speed = hn::Mul(hn::Set(d, 0.5F), hn::Add(hn::Abs(pair.radial_speed), hn::Sqrt(hn::Add(jump, jump))));
    const Floats slopes =
        hn::Add(hn::Div(hn::Mul(hn::Set(d, target.grad_h), pair.slope), own_density),
                hn::Div(hn::Mul(hn::GatherIndex(d, sources.grad_h, index), pair.slope_other), pair.density));
    return hn::Mul(hn::Mul(strength, speed), hn::Mul(pair.hotter, slopes));
  }

  /// dW/dr.
  HWY_INLINE static Floats kernel_slope(Floats r, Floats inverse) {
    const Floats inverse2 = hn::Mul(inverse, inverse);
    return hn::Mul(hn::Mul(hn::Set(Lanes{}, norm_of<kind>()), hn::Mul(inverse2, inverse2)),
                   shape_at<kind>(hn::Mul(r, inverse)).slope);
  }
};

template <KernelKind kind>
ForceSums forces_of(const Scheme& scheme, const ForceTarget& target, const ForceSources& sources) {
  const Lanes d;
  ForceLoop<kind> loop{.scheme = scheme, .target = target, .sources = sources};
  const Floats ratio = hn::Set(d, support_ratio(kind));
  const Floats support = hn::Set(d, loop.support);
  Near near;
  for (std::size_t i = 0; i < sources.count;) {
    i = find_near(target, sources, i, near, [&](std::size_t j) HWY_ATTR {
      const Floats reach = hn::Max(support, hn::Mul(ratio, hn::LoadU(d, sources.smoothing + j)));
      return hn::Mul(reach, reach);
    });
    use_near(near, [&](Indices index, hn::Mask<Lanes> is_there) HWY_ATTR { loop.add(index, is_there); });
  }
  const auto total = [&](Floats sum) HWY_ATTR { return hn::GetLane(hn::SumOfLanes(d, sum)); };
  return {.x = total(loop.sums.x),
          .y = total(loop.sums.y),
          .z = total(loop.sums.z),
          .energy_rate = total(loop.sums.energy_rate),
          .compression = total(loop.sums.compression),
          .laplacian = total(loop.sums.laplacian),
          .signal_speed = hn::GetLane(hn::MaxOfLanes(d, loop.sums.signal))};
}

void sum_forces(const Scheme& scheme,
                std::span<const ForceTarget> targets,
                const ForceSources& sources,
                ForceSums* sums) {
  for (std::size_t i = 0; i < targets.size(); ++i) {
    sums[i] = scheme.kernel == KernelKind::cubic_spline
                  ? forces_of<KernelKind::cubic_spline>(scheme, targets[i], sources)
                  : forces_of<KernelKind::wendland_c2>(scheme, targets[i], sources);
  }
}

const char* target_name() {
  return hwy::TargetName(HWY_TARGET);
}

}  // namespace sph::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sph {

HWY_EXPORT(sum_density);
HWY_EXPORT(sum_forces);
HWY_EXPORT(target_name);

void sum_density(KernelKind kernel,
                 std::span<const DensityTarget> targets,
                 const DensitySources& sources,
                 std::span<DensitySums> sums) {
  plait::expect(sums.size() == targets.size(), "one result for each target");
  plait::expect(sources.count % source_padding == 0, "sources are padded");
  HWY_DYNAMIC_DISPATCH(sum_density)(kernel, targets, sources, sums.data());
}

void sum_forces(const Scheme& scheme,
                std::span<const ForceTarget> targets,
                const ForceSources& sources,
                std::span<ForceSums> sums) {
  plait::expect(sums.size() == targets.size(), "one result for each target");
  plait::expect(sources.count % source_padding == 0, "sources are padded");
  HWY_DYNAMIC_DISPATCH(sum_forces)(scheme, targets, sources, sums.data());
}

const char* vector_target() {
  return HWY_DYNAMIC_DISPATCH(target_name)();
}

}  // namespace sph
#endif
