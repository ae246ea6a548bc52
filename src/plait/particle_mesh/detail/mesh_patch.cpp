// SPDX-License-Identifier: Apache-2.0
#include "plait/particle_mesh/detail/mesh_patch.hpp"

#include <algorithm>
#include <cmath>

#include "plait/particle_mesh/detail/spline.hpp"

namespace plait::particles::detail {

namespace {

struct PlaceWeights {
  SplineWeights x, y, z;

  PlaceWeights(const PeriodicMesh& mesh, const Vector& place) : PlaceWeights{mesh.coordinates(place)} {}

 private:
  explicit PlaceWeights(const std::array<double, 3>& at) : x{at[0]}, y{at[1]}, z{at[2]} {}
};

}  // namespace

fft::IndexBox joined(const fft::IndexBox& one, const fft::IndexBox& other) {
  if (one.is_empty() || other.is_empty()) {
    return one.is_empty() ? other : one;
  }
  fft::IndexBox both = one;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    both.low[axis] = std::min(both.low[axis], other.low[axis]);
    both.high[axis] = std::max(both.high[axis], other.high[axis]);
  }
  return both;
}

fft::IndexBox MeshPatch::points_around(const PeriodicMesh& mesh, std::span<const Vector> places) {
  fft::IndexBox box;
  if (places.empty()) {
    return box;
  }
  std::array<double, 3> low = mesh.coordinates(places.front());
  std::array<double, 3> high = low;
  for (const Vector& place : places) {
    const std::array<double, 3> at = mesh.coordinates(place);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      low[axis] = std::min(low[axis], at[axis]);
      high[axis] = std::max(high[axis], at[axis]);
    }
  }
  for (std::size_t axis = 0; axis < 3; ++axis) {
    box.low[axis] = first_point(low[axis]);
    box.high[axis] = first_point(high[axis]) + spline_order;
  }
  return box;
}

void MeshPatch::cover(const PeriodicMesh& mesh, const fft::IndexBox& box) {
  mesh_ = mesh;
  box_ = box;
  values_.resize(static_cast<std::size_t>(box.volume()));
}

void MeshPatch::clear(std::uint32_t part, std::uint32_t parts) {
  const std::size_t begin = values_.size() * part / parts;
  const std::size_t end = values_.size() * (part + std::size_t{1}) / parts;
  std::fill(
      values_.begin() + static_cast<std::ptrdiff_t>(begin), values_.begin() + static_cast<std::ptrdiff_t>(end), 0);
}

void MeshPatch::deposit(const Vector& place, double charge) {
  const PlaceWeights weights{mesh_, place};
  for (int i = 0; i < spline_order; ++i) {
    for (int j = 0; j < spline_order; ++j) {
      const double share = charge * weights.x.value[i] * weights.y.value[j];
      double* const row = &values_[offset(weights.x.first + i, weights.y.first + j, weights.z.first)];
      for (int k = 0; k < spline_order; ++k) {
        row[k] += share * weights.z.value[k];
      }
    }
  }
}

MeshValue MeshPatch::at(const Vector& place) const {
  const PlaceWeights weights{mesh_, place};
  MeshValue sum;
  for (int i = 0; i < spline_order; ++i) {
    for (int j = 0; j < spline_order; ++j) {
      const double* const row = &values_[offset(weights.x.first + i, weights.y.first + j, weights.z.first)];
      double value = 0;
      double slope = 0;
      for (int k = 0; k < spline_order; ++k) {
        value += row[k] * weights.z.value[k];
        slope += row[k] * weights.z.slope[k];
      }
      sum.potential += weights.x.value[i] * weights.y.value[j] * value;
      sum.slope += Vector{weights.x.slope[i] * weights.y.value[j] * value,
                          weights.x.value[i] * weights.y.slope[j] * value,
                          weights.x.value[i] * weights.y.value[j] * slope};
    }
  }
  sum.slope = {sum.slope.x / mesh_.spacing.x, sum.slope.y / mesh_.spacing.y, sum.slope.z / mesh_.spacing.z};
  return sum;
}

}  // namespace plait::particles::detail
