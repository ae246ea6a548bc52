// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace sph {

/// The number of points of a glass along an edge of its cube.
inline constexpr std::uint32_t glass_edge = 12;

/// A point in the unit cube, in units of `1 / glass_unit` of its edge.
using GlassPoint = std::array<std::uint16_t, 3>;
inline constexpr double glass_unit = 65536;

/// The points of a glass in the periodic unit cube: as even as a lattice, but without preferred directions. Gas on a
/// lattice that is stretched along one of its axes keeps its planes, which falsifies its pressure.
///
/// `sph_make_glass` computes them in some seconds; kinds of processors round differently.
[[nodiscard]] std::span<const GlassPoint> glass_points() noexcept;

}  // namespace sph
