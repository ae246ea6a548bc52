// SPDX-License-Identifier: Apache-2.0
#include "sph/exact/riemann.hpp"

#include <algorithm>
#include <cmath>

namespace sph::exact {

namespace {

/// How fast the gas behind the wave into `side` goes when the pressure there is `p`, and the derivative by `p`.
struct Wave {
  double speed;
  double slope;
};
Wave wave_into(const State& side, double p, double gamma) {
  const double sound = std::sqrt(gamma * side.pressure / side.density);
  if (p > side.pressure) {
    const double a = 2 / ((gamma + 1) * side.density);
    const double b = (gamma - 1) / (gamma + 1) * side.pressure;
    const double root = std::sqrt(a / (p + b));
    return {(p - side.pressure) * root, root * (1 - (p - side.pressure) / (2 * (p + b)))};
  }
  const double ratio = p / side.pressure;
  return {2 * sound / (gamma - 1) * (std::pow(ratio, (gamma - 1) / (2 * gamma)) - 1),
          std::pow(ratio, -(gamma + 1) / (2 * gamma)) / (side.density * sound)};
}

}  // namespace

Riemann::Riemann(const State& left, const State& right, double gamma) : left_{left}, right_{right}, gamma_{gamma} {
  double p = (left.pressure + right.pressure) / 2;
  for (int i = 0; i < 100; ++i) {
    const Wave l = wave_into(left, p, gamma);
    const Wave r = wave_into(right, p, gamma);
    const double next = std::max(p - (l.speed + r.speed + right.speed - left.speed) / (l.slope + r.slope), 0.01 * p);
    const bool is_settled = std::abs(next - p) < 1e-14 * p;
    p = next;
    if (is_settled) {
      break;
    }
  }
  pressure_ = p;
  speed_ = (left.speed + right.speed + wave_into(right, p, gamma).speed - wave_into(left, p, gamma).speed) / 2;
}

State Riemann::at(double x_over_t) const {
  return x_over_t < speed_ ? beside(left_, -1, x_over_t) : beside(right_, 1, x_over_t);
}

State Riemann::beside(const State& side, double sign, double x_over_t) const {
  const double g = gamma_;
  const double sound = std::sqrt(g * side.pressure / side.density);
  const double ratio = pressure_ / side.pressure;
  const double outward = sign * (x_over_t - side.speed);  // in the frame of the gas ahead
  if (pressure_ > side.pressure) {
    const double shock = sound * std::sqrt((g + 1) / (2 * g) * ratio + (g - 1) / (2 * g));
    const double step = (g - 1) / (g + 1);
    return outward > shock ? side : State{side.density * (ratio + step) / (step * ratio + 1), speed_, pressure_};
  }
  if (outward > sound) {
    return side;
  }
  const double behind_sound = sound * std::pow(ratio, (g - 1) / (2 * g));
  if (sign * (x_over_t - speed_) < behind_sound) {
    return {side.density * std::pow(ratio, 1 / g), speed_, pressure_};
  }
  const double local = 2 / (g + 1) * sound + (g - 1) / (g + 1) * outward;  // sound within the fan
  const double power = local / sound;
  return {side.density * std::pow(power, 2 / (g - 1)),
          x_over_t - sign * local,
          side.pressure * std::pow(power, 2 * g / (g - 1))};
}

}  // namespace sph::exact
