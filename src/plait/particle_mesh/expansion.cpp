// SPDX-License-Identifier: Apache-2.0
#include "plait/particle_mesh/expansion.hpp"

#include <array>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait::particles {

namespace {

/// The integral of a smooth function, by Gauss and Legendre's rule of five points on each of several parts.
template <class Function>
double integral(Function function, double from, double to, int parts) {
  constexpr std::array<double, 3> places{0, 0.5384693101056831, 0.9061798459386640};
  constexpr std::array<double, 3> weights{0.5688888888888889, 0.4786286704993665, 0.2369268850561891};
  const double half = (to - from) / (2 * parts);
  double sum = 0;
  for (int part = 0; part < parts; ++part) {
    const double middle = from + (2 * part + 1) * half;
    sum += weights[0] * function(middle);
    for (std::size_t i = 1; i < places.size(); ++i) {
      sum += weights[i] * (function(middle - places[i] * half) + function(middle + places[i] * half));
    }
  }
  return sum * half;
}

constexpr int parts_of_a_step = 4;

}  // namespace

Expansion::Expansion(double hubble, double matter) : hubble_{hubble}, matter_{matter} {
  if (!(hubble > 0) || !std::isfinite(hubble) || !(matter > 0) || matter > 1) {
    throw Error{
        ErrorCode::bad_argument,
        fmt::format("an expansion with rate {} and a share of matter of {}: the rate must be positive, the share above "
                    "0 and at most 1",
                    hubble,
                    matter)};
  }
}

double Expansion::rate(double a) const {
  return hubble_ * std::sqrt(matter_ / (a * a * a) + 1 - matter_);
}

double Expansion::time(double a) const {
  const double rest = 1 - matter_;
  return rest > 0 ? 2 / (3 * hubble_ * std::sqrt(rest)) * std::asinh(std::sqrt(rest / matter_ * a * a * a))
                  : 2 / (3 * hubble_) * std::sqrt(a * a * a);
}

double Expansion::drift(double from, double to) const {  // dt = d(ln a) / rate
  return integral([this](double ln_a) { return std::exp(-2 * ln_a) / rate(std::exp(ln_a)); },
                  std::log(from),
                  std::log(to),
                  parts_of_a_step);
}

double Expansion::kick(double from, double to) const {
  return integral([this](double ln_a) { return std::exp(-ln_a) / rate(std::exp(ln_a)); },
                  std::log(from),
                  std::log(to),
                  parts_of_a_step);
}

double Expansion::growth_integral(double a) const {
  // a = s^2: the integrand is smooth at 0, where it is s^3 / matter^(3/2).
  const auto of_root = [this](double s) {
    const double cube = s * s * s * s * s * s;
    return 2 * s * std::pow(s * s / (matter_ + (1 - matter_) * cube), 1.5);
  };
  return integral(of_root, 0, std::sqrt(a), 16);
}

double Expansion::growth(double a) const {
  return rate(a) * growth_integral(a) / (rate(1) * growth_integral(1));
}

double Expansion::growth_rate(double a) const {
  const double scaled = rate(a) / hubble_;
  const double share = matter_ / (a * a * a * scaled * scaled);
  return -1.5 * share + 1 / (a * a * scaled * scaled * scaled * growth_integral(a));
}

double Expansion::matter_density(double gravity) const {
  return 3 * hubble_ * hubble_ * matter_ / (8 * std::numbers::pi * gravity);
}

}  // namespace plait::particles
