// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <type_traits>

namespace plait::particles {

/// Three cartesian components.
struct Vector {
  double x = 0;
  double y = 0;
  double z = 0;

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
