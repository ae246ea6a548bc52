// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "sph/scheme.hpp"

namespace sph {

/// Sources are padded to a multiple of this number, by particles of mass 0 or out of reach: loops have no remainder on
/// any processor.
inline constexpr std::size_t source_padding = 16;

/// Sources of a group of targets: one array per property, in single precision. Positions are relative to the group's
/// origin. `count` is a multiple of `source_padding`.
struct DensitySources {
  std::size_t count = 0;
  const float *x = nullptr, *y = nullptr, *z = nullptr;
  const float *velocity_x = nullptr, *velocity_y = nullptr, *velocity_z = nullptr;
  const float* mass = nullptr;
};

/// Sources of forces, with results of `finish_density`.
struct ForceSources : DensitySources {
  const float *smoothing = nullptr, *density = nullptr, *grad_h = nullptr, *energy = nullptr;
  const float *viscosity = nullptr, *conduction = nullptr;
  /// The symmetric part of the flow's gradient; only the reconstructed scheme reads it.
  const float *strain_xx = nullptr, *strain_yy = nullptr, *strain_zz = nullptr;
  const float *strain_yz = nullptr, *strain_xz = nullptr, *strain_xy = nullptr;
};

/// A particle whose sums are computed. It may also be a source; for the density it must be, as its own neighbour.
struct DensityTarget {
  float x = 0, y = 0, z = 0;
  float velocity_x = 0, velocity_y = 0, velocity_z = 0;
  float smoothing = 0;
};
struct DensitySums {
  float number = 0;        ///< Sum of W.
  float number_slope = 0;  ///< Its derivative by h.
  float density = 0;
  float density_slope = 0;
  /// Sums of -m W'/r v_a x_b, v and x relative to the target, rows first: about density times gradient of the flow.
  std::array<float, 9> flow{};
  /// Sums of -m W'/r x_a x_b in the order xx, xy, xz, yy, yz, zz: about the density times the unit matrix.
  std::array<float, 6> places{};
};

struct ForceTarget : DensityTarget {
  float density = 0, grad_h = 0, energy = 0, viscosity = 0, conduction = 0;
  float strain_xx = 0, strain_yy = 0, strain_zz = 0, strain_yz = 0, strain_xz = 0, strain_xy = 0;
};
struct ForceSums {
  float x = 0, y = 0, z = 0;  ///< Acceleration.
  float energy_rate = 0;
  float compression = 0;  ///< Sum of m/rho v.r W'/r over neighbours: minus the divergence, for dh/dt.
  float laplacian = 0;    ///< Of the specific energy.
  float signal_speed = 0;
};

/// Sums over sources within each target's support (a gather); one result per target. Uses the widest vectors of the
/// processor; results of different widths differ by rounding.
void sum_density(KernelKind kernel,
                 std::span<const DensityTarget> targets,
                 const DensitySources& sources,
                 std::span<DensitySums> sums);

/// Sums over sources within the larger of the target's and the source's support (symmetric): forces between two
/// particles are opposite, up to rounding.
void sum_forces(const Scheme& scheme,
                std::span<const ForceTarget> targets,
                const ForceSources& sources,
                std::span<ForceSums> sums);

/// The instruction set of the loops on this processor, such as "AVX2".
[[nodiscard]] const char* vector_target();

}  // namespace sph
