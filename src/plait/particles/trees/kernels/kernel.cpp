// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/trees/kernels/kernel.hpp"

#include <algorithm>
#include <cmath>

namespace plait::particles {
namespace {

constexpr double far_away = 1e10;

std::size_t padded(std::size_t count) {
  return (count + list_padding - 1) / list_padding * list_padding;
}

template <class V>
void fill(V& values, std::size_t begin, std::size_t end, double value) {
  for (std::size_t i = begin; i < end; ++i) {
    values[i] = static_cast<typename V::value_type>(value);
  }
}

}  // namespace

void BodyList::reserve(std::size_t n) {
  if (padded(n) > x.size()) {
    for (auto* values : {&x, &y, &z, &mass}) {
      values->resize(padded(n + n / 2));
    }
  }
}

BodySpan BodyList::pad(std::size_t count) {
  const std::size_t end = padded(count);
  fill(x, count, end, far_away);
  fill(y, count, end, far_away);
  fill(z, count, end, far_away);
  fill(mass, count, end, 0);
  return {x.data(), y.data(), z.data(), mass.data(), end};
}

void CellList::reserve(std::size_t n) {
  if (padded(n) > x.size()) {
    for (auto* values : {&x, &y, &z, &mass, &xx, &xy, &xz, &yy, &yz, &trace, &px, &py, &pz}) {
      values->resize(padded(n + n / 2));
    }
  }
}

CellSpan CellList::pad(std::size_t count) {
  const std::size_t end = padded(count);
  for (auto* values : {&x, &y, &z}) {  // the position of a cell, which is neither at a target nor out of range
    fill(*values, count, end, count > 0 ? (*values)[count - 1] : 0);
  }
  for (auto* values : {&mass, &xx, &xy, &xz, &yy, &yz, &trace, &px, &py, &pz}) {
    fill(*values, count, end, 0);
  }
  return {x.data(),
          y.data(),
          z.data(),
          mass.data(),
          xx.data(),
          xy.data(),
          xz.data(),
          yy.data(),
          yz.data(),
          trace.data(),
          end,
          px.data(),
          py.data(),
          pz.data()};
}

Reach reach_of(const KernelOptions& options, const TargetSpan& targets) {
  if (!options.is_bounded()) {
    return Reach::all;
  }
  const double cutoff = std::sqrt(options.cutoff2);
  const auto is_nearest = [&](double period, const float* offsets) {
    float extent = 0;
    for (std::size_t i = 0; i < targets.count; ++i) {
      extent = std::max(extent, std::abs(offsets[i]));
    }
    constexpr double rounding = 1 - 1e-6;
    return period == 0 || cutoff + static_cast<double>(extent) < rounding * period / 2;
  };
  return is_nearest(options.period.x, targets.near_x) && is_nearest(options.period.y, targets.near_y) &&
                 is_nearest(options.period.z, targets.near_z)
             ? Reach::cutoff
             : Reach::images;
}

const Kernels& best_kernels() {
  return *available_kernels().back();
}

}  // namespace plait::particles
