// SPDX-License-Identifier: Apache-2.0
#include "sph/exact/shear/shear_layer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace sph::exact {

namespace {

constexpr double thickness = 0.025;
constexpr double mode = 4 * M_PI;
/// Even in time, from 0 to `shear_time_max`.
constexpr std::array amplitudes{
#include "sph/exact/shear/shear_amplitudes.inc"
};

/// From `outside` to `inside` as y crosses 1/4, and back as it crosses 3/4.
double layered(double y, double outside, double inside) {
  const double half = (outside - inside) / 2;
  const double from_middle = std::abs(y - 0.5);  // 0 in the middle of the inner layer
  const double beyond = from_middle - 0.25;
  return beyond > 0 ? outside - half * std::exp(-beyond / thickness) : inside + half * std::exp(beyond / thickness);
}

}  // namespace

State shear_layer_at(double y) {
  return {layered(y, 1, 2), layered(y, 0.5, -0.5), 2.5};
}

double shear_wave_at(double x) {
  return 0.01 * std::sin(mode * x);
}

void ShearMode::add(double x, double y, double speed_y, double volume) {
  const double share = volume * std::exp(-mode * std::abs(std::min(y, 1 - y) - 0.25));
  sine += share * speed_y * std::sin(mode * x);
  cosine += share * speed_y * std::cos(mode * x);
  weight += share;
}

double ShearMode::amplitude() const {
  return weight > 0 ? 2 * std::hypot(sine, cosine) / weight : 0;
}

double shear_amplitude_at(double time) {
  const double place = std::clamp(time / shear_time_max, 0.0, 1.0) * static_cast<double>(amplitudes.size() - 1);
  const auto i = std::min(static_cast<std::size_t>(place), amplitudes.size() - 2);
  const double part = place - static_cast<double>(i);
  return std::exp((1 - part) * std::log(amplitudes[i]) + part * std::log(amplitudes[i + 1]));
}

}  // namespace sph::exact
