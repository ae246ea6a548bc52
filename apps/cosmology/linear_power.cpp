// SPDX-License-Identifier: Apache-2.0
#include "cosmology/linear_power.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numbers>
#include <sstream>
#include <string>

#include <fmt/format.h>

namespace cosmology {

using plait::Error;
using plait::ErrorCode;

namespace {

/// The Fourier transform of a sphere of radius 1 with volume 1.
double sphere_window(double x) {
  return x < 1e-3 ? 1 - x * x / 10 : 3 * (std::sin(x) - x * std::cos(x)) / (x * x * x);
}

}  // namespace

LinearPower::LinearPower(const Universe& universe, const PowerShape& shape) : universe_{universe}, index_{shape.index} {
  if (shape.file.empty()) {
    const double sigma = deviation(8 / universe.hubble);
    norm_ = shape.sigma8 * shape.sigma8 / (sigma * sigma);
    return;
  }
  std::ifstream in{shape.file};
  const auto refuse = [&](const std::string& why) {
    throw Error{ErrorCode::bad_input, fmt::format("{}: {}", shape.file.string(), why)};
  };
  if (!in) {
    refuse("cannot be read");
  }
  std::size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const std::size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string::npos || line[begin] == '#') {
      continue;
    }
    std::istringstream words{line};
    double k = 0;
    double power = 0;
    if (!(words >> k >> power) || !(k > 0) || !(power > 0) || (!log_k_.empty() && std::log(k) <= log_k_.back())) {
      refuse(
          fmt::format("line {} must have a wave number above that of the line before, and a positive power", number));
    }
    log_k_.push_back(std::log(k));
    log_power_.push_back(std::log(power));
  }
  if (log_k_.size() < 2) {
    refuse("has fewer than two lines of wave number and power");
  }
}

double LinearPower::transfer(double k) const {
  const double h = universe_.hubble;
  const double matter = universe_.matter * h * h;
  const double baryons = universe_.baryons * h * h;
  const double share = universe_.baryons / universe_.matter;
  const double sound = 44.5 * std::log(9.83 / matter) / std::sqrt(1 + 10 * std::pow(baryons, 0.75));
  const double alpha = 1 - 0.328 * std::log(431 * matter) * share + 0.38 * std::log(22.3 * matter) * share * share;
  const double shape = universe_.matter * h * (alpha + (1 - alpha) / (1 + std::pow(0.43 * k * sound, 4)));
  constexpr double temperature = 2.7255 / 2.7;
  const double q = k / h * temperature * temperature / shape;
  const double logarithm = std::log(2 * std::numbers::e + 1.8 * q);
  return logarithm / (logarithm + (14.2 + 731 / (1 + 62.5 * q)) * q * q);
}

double LinearPower::operator()(double k) const {
  if (log_k_.empty()) {
    const double t = transfer(k);
    return norm_ * std::pow(k, index_) * t * t;
  }
  const double x = std::log(k);
  const auto above = std::ranges::upper_bound(log_k_, x);
  if (above == log_k_.begin() || above == log_k_.end()) {
    return x == log_k_.back() ? std::exp(log_power_.back()) : 0;
  }
  const auto i = static_cast<std::size_t>(above - log_k_.begin());
  const double part = (x - log_k_[i - 1]) / (log_k_[i] - log_k_[i - 1]);
  return std::exp(log_power_[i - 1] + part * (log_power_[i] - log_power_[i - 1]));
}

double LinearPower::deviation(double radius) const {
  constexpr int points = 4000;
  const double low = std::log(1e-4 / radius);
  const double width = (std::log(300 / radius) - low) / points;
  double sum = 0;
  for (int i = 0; i < points; ++i) {
    const double k = std::exp(low + (i + 0.5) * width);
    const double window = sphere_window(k * radius);
    sum += (*this)(k)*k * k * k * window * window * width;
  }
  return std::sqrt(sum / (2 * std::numbers::pi * std::numbers::pi));
}

}  // namespace cosmology
