// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <type_traits>

namespace plait::particles {

/// Three cartesian components.
struct Vector {
  double x = 0;
  double y = 0;
  double z = 0;

  [[nodiscard]] constexpr double operator[](std::size_t axis) const { return axis == 0 ? x : axis == 1 ? y : z; }
  constexpr Vector& operator+=(const Vector& b) {
    x += b.x;
    y += b.y;
    z += b.z;
    return *this;
  }
  constexpr Vector& operator-=(const Vector& b) {
    x -= b.x;
    y -= b.y;
    z -= b.z;
    return *this;
  }
  friend constexpr Vector operator+(Vector a, const Vector& b) { return a += b; }
  friend constexpr Vector operator-(Vector a, const Vector& b) { return a -= b; }
  friend constexpr Vector operator*(double s, const Vector& a) { return {s * a.x, s * a.y, s * a.z}; }
  friend constexpr bool operator==(const Vector&, const Vector&) = default;
};

/// Whether all components are finite.
[[nodiscard]] constexpr bool is_finite(const Vector& p) {
  // The difference of a finite number with itself is 0, else NaN: no branch for each component.
  return (p.x - p.x) + (p.y - p.y) + (p.z - p.z) == 0;
}
[[nodiscard]] constexpr double dot(const Vector& a, const Vector& b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}
[[nodiscard]] constexpr Vector cross(const Vector& a, const Vector& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
[[nodiscard]] inline double length(const Vector& a) {
  return std::sqrt(dot(a, a));
}

static_assert(sizeof(Vector) == 24 && std::is_trivially_copyable_v<Vector>, "travels in messages");

}  // namespace plait::particles
