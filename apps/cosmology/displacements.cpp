// SPDX-License-Identifier: Apache-2.0
#include "cosmology/displacements.hpp"

#include <cmath>
#include <numbers>

namespace cosmology {

namespace fft = plait::fft;

Displacements::Displacements(
    plait::Runtime& runtime, std::uint32_t points, double box, const Contrast& contrast, Order order)
    : points_{points},
      unit_{2 * std::numbers::pi / box},
      order_{order},
      plan_{runtime.messages(), runtime.scheduler(), {points, points, points}, {.effort = fft::Effort::estimate}} {
  std::vector<Complex> source(static_cast<std::size_t>(plan_.spectral().size()));
  for_waves(source, [&](const std::array<int, 3>& wave, Complex& value) { value = contrast(wave); });
  first_ = displacements_of(source);
  if (order == Order::second) {
    second_ = displacements_of(second_source(source));
  }
}

template <class Use>
void Displacements::for_waves(std::vector<Complex>& spectrum, Use use) const {
  const fft::ArrayLayout& layout = plan_.spectral();
  const auto count = static_cast<fft::Index>(points_);
  const auto number = [count](fft::Index index) { return static_cast<int>(2 * index > count ? index - count : index); };
  for (fft::Index i = layout.box.low[0]; i < layout.box.high[0]; ++i) {
    for (fft::Index j = layout.box.low[1]; j < layout.box.high[1]; ++j) {
      for (fft::Index k = layout.box.low[2]; k < layout.box.high[2]; ++k) {
        Complex& value = spectrum[static_cast<std::size_t>(layout.offset(i, j, k))];
        const std::array wave{number(i), number(j), number(k)};
        const bool is_shortest = 2 * i == count || 2 * j == count || 2 * k == count;  // without an opposite
        if (is_shortest || wave == std::array{0, 0, 0}) {
          value = 0;
        } else {
          use(wave, value);
        }
      }
    }
  }
}

namespace {

double square_of(const std::array<int, 3>& wave) {
  return wave[0] * wave[0] + wave[1] * wave[1] + wave[2] * wave[2];
}

}  // namespace

Displacements::Axes Displacements::displacements_of(const std::vector<Complex>& source) {
  Axes along;
  std::vector<Complex> spectrum;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    spectrum = source;  // transforms overwrite it
    for_waves(spectrum, [&](const std::array<int, 3>& wave, Complex& value) {
      value *= Complex{0, wave[axis] / (unit_ * square_of(wave))};
    });
    along[axis].resize(static_cast<std::size_t>(plan_.physical().size()));
    fft::Execution{plan_, spectrum, along[axis]}.run();
  }
  return along;
}

std::vector<double> Displacements::derivative(const std::vector<Complex>& source, std::size_t i, std::size_t j) {
  std::vector<Complex> spectrum = source;
  for_waves(spectrum,
            [&](const std::array<int, 3>& wave, Complex& value) { value *= wave[i] * wave[j] / square_of(wave); });
  std::vector<double> values(static_cast<std::size_t>(plan_.physical().size()));
  fft::Execution{plan_, spectrum, values}.run();
  return values;
}

/// The sum over pairs of axes of phi_ii phi_jj - phi_ij^2, phi the potential of the first order.
std::vector<std::complex<double>> Displacements::second_source(const std::vector<Complex>& contrast) {
  std::array<std::vector<double>, 3> diagonal;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    diagonal[axis] = derivative(contrast, axis, axis);
  }
  const std::size_t count = diagonal[0].size();
  std::vector<double> sum(count);
  for (const auto [i, j] : {std::array<std::size_t, 2>{0, 1}, {0, 2}, {1, 2}}) {
    const std::vector<double> mixed = derivative(contrast, i, j);
    for (std::size_t at = 0; at < count; ++at) {
      sum[at] += diagonal[i][at] * diagonal[j][at] - mixed[at] * mixed[at];
    }
  }
  std::vector<Complex> source(contrast.size());
  fft::Execution{plan_, sum, source}.run();
  const double all = std::pow(static_cast<double>(points_), 3);  // transforms are not normalised
  for_waves(source, [&](const std::array<int, 3>& /*wave*/, Complex& value) { value /= all; });
  return source;
}

SecondGrowth second_growth(double matter) {
  return {std::pow(matter, -1.0 / 143), 2 * std::pow(matter, 6.0 / 11)};
}

}  // namespace cosmology
