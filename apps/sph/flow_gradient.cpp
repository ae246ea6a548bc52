// SPDX-License-Identifier: Apache-2.0
#include "sph/flow_gradient.hpp"

#include <cmath>

namespace sph {

namespace {

/// Of a symmetric matrix, in the order xx, xy, xz, yy, yz, zz.
using Symmetric = std::array<double, 6>;

/// A matrix of a smaller determinant, in units of the density cubed, is close to singular.
constexpr double determinant_min = 1e-3;

/// The inverse of the matrix of places.
Symmetric inverse_of(const DensitySums& sums) {
  const auto [xx, xy, xz, yy, yz, zz] =
      Symmetric{sums.places[0], sums.places[1], sums.places[2], sums.places[3], sums.places[4], sums.places[5]};
  const double density = sums.density;
  const double a = yy * zz - yz * yz;
  const double b = xz * yz - xy * zz;
  const double c = xy * yz - xz * yy;
  const double determinant = xx * a + xy * b + xz * c;
  if (!(determinant > determinant_min * density * density * density)) {
    return {1 / density, 0, 0, 1 / density, 0, 1 / density};
  }
  const double f = 1 / determinant;
  return {f * a, f * b, f * c, f * (xx * zz - xz * xz), f * (xy * xz - xx * yz), f * (xx * yy - xy * xy)};
}

}  // namespace

FlowGradient flow_gradient(const DensitySums& sums) {
  const Symmetric inverse = inverse_of(sums);
  constexpr std::array<std::array<std::size_t, 3>, 3> place{{{0, 1, 2}, {1, 3, 4}, {2, 4, 5}}};
  std::array<std::array<double, 3>, 3> v{};  // of the speed along a by the place along b
  for (std::size_t a = 0; a < 3; ++a) {
    for (std::size_t b = 0; b < 3; ++b) {
      for (std::size_t c = 0; c < 3; ++c) {
        v[a][b] += static_cast<double>(sums.flow[3 * a + c]) * inverse[place[c][b]];
      }
    }
  }
  double square = 0;  // its trace
  for (std::size_t a = 0; a < 3; ++a) {
    for (std::size_t b = 0; b < 3; ++b) {
      square += v[a][b] * v[b][a];
    }
  }
  return {.divergence = static_cast<float>(v[0][0] + v[1][1] + v[2][2]),
          .curl = static_cast<float>(std::hypot(v[2][1] - v[1][2], v[0][2] - v[2][0], v[1][0] - v[0][1])),
          .strain_along = {v[0][0], v[1][1], v[2][2]},
          .strain_across = {(v[1][2] + v[2][1]) / 2, (v[0][2] + v[2][0]) / 2, (v[0][1] + v[1][0]) / 2},
          .falling = static_cast<float>(square)};
}

}  // namespace sph
