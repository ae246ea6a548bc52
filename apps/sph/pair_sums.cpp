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

/// max(edge - q, 0): kernels are sums of its powers.
HWY_INLINE Floats below(float edge, Floats q) {
  const Lanes d;
  return hn::Max(hn::Sub(hn::Set(d, edge), q), hn::Zero(d));
}

HWY_INLINE Shape cubic_shape_at(Floats q) {
  const Lanes d;
  const Floats outer = below(1, q);
  const Floats inner = below(0.5F, q);
  const Floats outer2 = hn::Mul(outer, outer);
  const Floats inner2 = hn::Mul(inner, inner);
  return {hn::MulSub(hn::Mul(hn::Set(d, 2.0F), outer2), outer, hn::Mul(hn::Mul(hn::Set(d, 8.0F), inner2), inner)),
          hn::MulSub(hn::Set(d, 24.0F), inner2, hn::Mul(hn::Set(d, 6.0F), outer2))};
}

HWY_INLINE Shape quintic_shape_at(Floats q) {
  const Lanes d;
  const Floats outer = below(1, q);
  const Floats middle = below(2.0F / 3, q);
  const Floats inner = below(1.0F / 3, q);
  const auto power4 = [](Floats x) HWY_ATTR {
    const Floats square = hn::Mul(x, x);
    return hn::Mul(square, square);
  };
  const Floats outer4 = power4(outer);
  const Floats middle4 = hn::Mul(hn::Set(d, 6.0F), power4(middle));
  const Floats inner4 = hn::Mul(hn::Set(d, 15.0F), power4(inner));
  const Floats w = hn::MulAdd(inner4, inner, hn::NegMulAdd(middle4, middle, hn::Mul(outer4, outer)));
  return {w, hn::Mul(hn::Set(d, -5.0F), hn::Add(hn::Sub(outer4, middle4), inner4))};
}

/// Wendland's kernels: (1 - q)^n by a polynomial of q.
template <KernelKind kind>
HWY_INLINE Shape wendland_shape_at(Floats q) {
  const Lanes d;
  const auto number = [](float value) HWY_ATTR { return hn::Set(Lanes{}, value); };
  const Floats outer = below(1, q);
  const Floats outer2 = hn::Mul(outer, outer);
  const Floats outer3 = hn::Mul(outer2, outer);
  if constexpr (kind == KernelKind::wendland_c2) {
    return {hn::Mul(hn::Mul(outer2, outer2), hn::MulAdd(number(4), q, number(1))),
            hn::Mul(hn::Mul(number(-20), q), outer3)};
  } else if constexpr (kind == KernelKind::wendland_c4) {
    const Floats outer5 = hn::Mul(outer2, outer3);
    return {hn::Mul(hn::Mul(outer5, outer), hn::MulAdd(hn::MulAdd(number(35.0F / 3), q, number(6)), q, number(1))),
            hn::Mul(hn::Mul(hn::Mul(number(-56.0F / 3), q), outer5), hn::MulAdd(number(5), q, number(1)))};
  } else {
    static_assert(kind == KernelKind::wendland_c6);
    const Floats outer7 = hn::Mul(hn::Mul(outer2, outer2), outer3);
    const Floats inside =
        hn::MulAdd(hn::MulAdd(hn::MulAdd(number(32), q, number(25)), q, number(8)), q, hn::Set(d, 1.0F));
    const Floats steep = hn::MulAdd(hn::MulAdd(number(16), q, number(7)), q, number(1));
    return {hn::Mul(hn::Mul(outer7, outer), inside), hn::Mul(hn::Mul(hn::Mul(number(-22), q), outer7), steep)};
  }
}

template <KernelKind kind>
HWY_INLINE Shape shape_at(Floats q) {
  if constexpr (kind == KernelKind::cubic_spline) {
    return cubic_shape_at(q);
  } else if constexpr (kind == KernelKind::quintic_spline) {
    return quintic_shape_at(q);
  } else {
    return wendland_shape_at<kind>(q);
  }
}

/// Calls `use.template operator()<kind>()`.
template <class Use>
void with_kernel(KernelKind kind, const Use& use) {
  switch (kind) {
    case KernelKind::cubic_spline:
      return use.template operator()<KernelKind::cubic_spline>();
    case KernelKind::wendland_c2:
      return use.template operator()<KernelKind::wendland_c2>();
    case KernelKind::quintic_spline:
      return use.template operator()<KernelKind::quintic_spline>();
    case KernelKind::wendland_c4:
      return use.template operator()<KernelKind::wendland_c4>();
    case KernelKind::wendland_c6:
      return use.template operator()<KernelKind::wendland_c6>();
  }
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

/// Sums of one target, as vectors. `v_xy` is of the speed along x and the place along y, `p_xy` of places.
struct DensityVectors {
  Floats number = hn::Zero(Lanes{}), number_slope = number, density = number, density_slope = number;
  Floats v_xx = number, v_xy = number, v_xz = number;
  Floats v_yx = number, v_yy = number, v_yz = number;
  Floats v_zx = number, v_zy = number, v_zz = number;
  Floats p_xx = number, p_xy = number, p_xz = number, p_yy = number, p_yz = number, p_zz = number;
};

template <KernelKind kind>
struct DensityLoop {
  const DensityTarget& target;
  const DensitySources& sources;
  float inverse_support = 1 / (support_ratio(kind) * target.smoothing);
  DensityVectors sums;

  HWY_INLINE void add(Indices index, hn::Mask<Lanes> is_there) {
    const Lanes d;
    const auto apart = [&](float own, const float* property)
                           HWY_ATTR { return hn::Sub(hn::Set(d, own), hn::GatherIndex(d, property, index)); };
    const Floats dx = apart(target.x, sources.x);
    const Floats dy = apart(target.y, sources.y);
    const Floats dz = apart(target.z, sources.z);
    const Floats mass = hn::IfThenElseZero(is_there, hn::GatherIndex(d, sources.mass, index));
    const Floats r2 = hn::Max(hn::MulAdd(dx, dx, hn::MulAdd(dy, dy, hn::Mul(dz, dz))), hn::Set(d, 1e-30F));
    const Floats r = hn::Sqrt(r2);
    const Floats q = hn::Mul(r, hn::Set(d, inverse_support));
    Shape shape = shape_at<kind>(q);
    const auto is_real = hn::Gt(mass, hn::Zero(d));
    shape.w = hn::IfThenElseZero(is_real, shape.w);
    shape.slope = hn::IfThenElseZero(is_real, shape.slope);
    const Floats change = hn::MulAdd(hn::Set(d, 3.0F), shape.w, hn::Mul(q, shape.slope));
    sums.number = hn::Add(sums.number, shape.w);
    sums.number_slope = hn::Sub(sums.number_slope, change);
    sums.density = hn::MulAdd(mass, shape.w, sums.density);
    sums.density_slope = hn::NegMulAdd(mass, change, sums.density_slope);

    const Floats weight = hn::Neg(hn::Div(hn::Mul(mass, shape.slope), r));
    const Floats wx = hn::Mul(weight, dx);
    const Floats wy = hn::Mul(weight, dy);
    const Floats wz = hn::Mul(weight, dz);
    const auto add_row = [&](Floats value, Floats& x, Floats& y, Floats& z) HWY_ATTR {
      x = hn::MulAdd(value, wx, x);
      y = hn::MulAdd(value, wy, y);
      z = hn::MulAdd(value, wz, z);
    };
    add_row(apart(target.velocity_x, sources.velocity_x), sums.v_xx, sums.v_xy, sums.v_xz);
    add_row(apart(target.velocity_y, sources.velocity_y), sums.v_yx, sums.v_yy, sums.v_yz);
    add_row(apart(target.velocity_z, sources.velocity_z), sums.v_zx, sums.v_zy, sums.v_zz);
    add_row(dx, sums.p_xx, sums.p_xy, sums.p_xz);
    sums.p_yy = hn::MulAdd(dy, wy, sums.p_yy);
    sums.p_yz = hn::MulAdd(dy, wz, sums.p_yz);
    sums.p_zz = hn::MulAdd(dz, wz, sums.p_zz);
  }

  [[nodiscard]] DensitySums total() const {
    const auto sum = [](Floats lanes, float factor)
                         HWY_ATTR { return factor * hn::GetLane(hn::SumOfLanes(Lanes{}, lanes)); };
    const float norm = traits_of(kind).norm * inverse_support * inverse_support * inverse_support;
    const float by_h = norm / target.smoothing;  // dW/dh = dW/dH H/h, and 1/H of dW/dH is in it
    const auto moment = [&](Floats lanes) HWY_ATTR { return sum(lanes, norm * inverse_support); };
    return {.number = sum(sums.number, norm),
            .number_slope = sum(sums.number_slope, by_h),
            .density = sum(sums.density, norm),
            .density_slope = sum(sums.density_slope, by_h),
            .flow = {moment(sums.v_xx),
                     moment(sums.v_xy),
                     moment(sums.v_xz),
                     moment(sums.v_yx),
                     moment(sums.v_yy),
                     moment(sums.v_yz),
                     moment(sums.v_zx),
                     moment(sums.v_zy),
                     moment(sums.v_zz)},
            .places = {moment(sums.p_xx),
                       moment(sums.p_xy),
                       moment(sums.p_xz),
                       moment(sums.p_yy),
                       moment(sums.p_yz),
                       moment(sums.p_zz)}};
  }
};

template <KernelKind kind>
DensitySums density_of(const DensityTarget& target, const DensitySources& sources) {
  const float support = support_ratio(kind) * target.smoothing;
  const Floats support2 = hn::Set(Lanes{}, support * support);
  DensityLoop<kind> loop{.target = target, .sources = sources};
  Near near;
  for (std::size_t i = 0; i < sources.count;) {
    i = find_near(target, sources, i, near, [&](std::size_t) HWY_ATTR { return support2; });
    use_near(near, [&](Indices index, hn::Mask<Lanes> is_there) HWY_ATTR { loop.add(index, is_there); });
  }
  return loop.total();
}

void sum_density(KernelKind kernel,
                 std::span<const DensityTarget> targets,
                 const DensitySources& sources,
                 DensitySums* sums) {
  with_kernel(kernel, [&]<KernelKind kind>() {
    for (std::size_t i = 0; i < targets.size(); ++i) {
      sums[i] = density_of<kind>(targets[i], sources);
    }
  });
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

/// A vector in space, of each lane.
struct Place {
  Floats x, y, z;
};

/// Sums of one target, as vectors.
struct ForceVectors {
  Floats x = hn::Zero(Lanes{}), y = x, z = x, energy_rate = x, compression = x, laplacian = x, signal = x;
};

template <KernelKind kind, bool reconstructs>
struct ForceLoop {
  const Scheme& scheme;
  const ForceTarget& target;
  const ForceSources& sources;
  float support = support_ratio(kind) * target.smoothing;
  float approach_weight = shock_viscosity(scheme).approach;
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
    Floats separation = approach;  // the part of it that is dissipated
    if constexpr (reconstructs) {
      separation = hn::Sub(approach, linear_part(index, {dx, dy, dz}));
    }
    const Floats mu = hn::Mul(hn::Min(separation, hn::Zero(d)), one_over_r);
    const Floats sounds = hn::Add(own.sound, other.sound);
    const Floats signal = hn::NegMulAdd(hn::Set(d, approach_weight), mu, sounds);
    const Floats fastest = hn::NegMulAdd(hn::Set(d, 3.0F), hn::Mul(hn::Min(approach, hn::Zero(d)), one_over_r), sounds);
    sums.signal = hn::Max(sums.signal, hn::IfThenElseZero(acts, fastest));

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

  /// What is linear in the flow between a pair, times the distance: the mean of both gradients along the pair, limited
  /// by their ratio as van Leer does.
  HWY_INLINE Floats linear_part(Indices index, const Place& apart) {
    const Lanes d;
    const auto from = [&](const float* property) HWY_ATTR { return hn::GatherIndex(d, property, index); };
    const auto set = [](float value) HWY_ATTR { return hn::Set(Lanes{}, value); };
    const Floats own_part = strain_along(apart,
                                         {set(target.strain_xx), set(target.strain_yy), set(target.strain_zz)},
                                         {set(target.strain_yz), set(target.strain_xz), set(target.strain_xy)});
    const Floats other_part = strain_along(apart,
                                           {from(sources.strain_xx), from(sources.strain_yy), from(sources.strain_zz)},
                                           {from(sources.strain_yz), from(sources.strain_xz), from(sources.strain_xy)});
    const Floats both = hn::Add(own_part, other_part);
    // 4 A / (1 + A)^2 with the ratio A of both.
    const Floats product = hn::Max(hn::Mul(own_part, other_part), hn::Zero(d));
    const Floats limiter = hn::Div(hn::Mul(set(4), product), hn::Max(hn::Mul(both, both), set(1e-30F)));
    return hn::Mul(hn::Mul(set(0.5F), limiter), both);
  }

  /// x S x of a symmetric matrix with the diagonal and the rest.
  HWY_INLINE static Floats strain_along(const Place& at, const Place& diagonal, const Place& rest) {
    const Floats squares =
        hn::MulAdd(hn::Mul(at.x, at.x),
                   diagonal.x,
                   hn::MulAdd(hn::Mul(at.y, at.y), diagonal.y, hn::Mul(hn::Mul(at.z, at.z), diagonal.z)));
    const Floats products = hn::MulAdd(
        hn::Mul(at.y, at.z), rest.x, hn::MulAdd(hn::Mul(at.x, at.z), rest.y, hn::Mul(hn::Mul(at.x, at.y), rest.z)));
    return hn::MulAdd(hn::Set(Lanes{}, 2.0F), products, squares);
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
    return hn::Mul(hn::Mul(hn::Set(Lanes{}, traits_of(kind).norm), hn::Mul(inverse2, inverse2)),
                   shape_at<kind>(hn::Mul(r, inverse)).slope);
  }
};

template <KernelKind kind, bool reconstructs>
ForceSums forces_of(const Scheme& scheme, const ForceTarget& target, const ForceSources& sources) {
  const Lanes d;
  ForceLoop<kind, reconstructs> loop{.scheme = scheme, .target = target, .sources = sources};
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
  with_kernel(scheme.kernel, [&]<KernelKind kind>() {
    const auto forces = scheme.kind == SchemeKind::reconstructed ? forces_of<kind, true> : forces_of<kind, false>;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      sums[i] = forces(scheme, targets[i], sources);
    }
  });
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
