// SPDX-License-Identifier: Apache-2.0
// ranks: 2
// needs: plait::fft
// Solves Poisson's equation, laplacian(u) = f, in a periodic box: transforms, divides by -k^2, transforms back.
#include <algorithm>
#include <cmath>
#include <complex>
#include <iostream>
#include <numbers>
#include <span>
#include <vector>

#include "plait/fft.hpp"
#include "plait/plait.hpp"

namespace fft = plait::fft;

int main(int argc, char** argv) {
  const plait::MpiSession mpi{argc, argv};
  plait::Runtime runtime{MPI_COMM_WORLD};
  constexpr fft::Index n = 32;
  const fft::Plan plan{runtime.messages(), runtime.scheduler(), {n, n, n}, {.effort = fft::Effort::estimate}};
  const fft::ArrayLayout& here = plan.physical();
  const fft::ArrayLayout& waves = plan.spectral();
  std::vector<double> field(static_cast<std::size_t>(here.size()));
  std::vector<std::complex<double>> modes(static_cast<std::size_t>(waves.size()));
  fft::Execution forward{plan, std::span<const double>{field}, std::span{modes}, 1.0 / (n * n * n)};
  fft::Execution backward{plan, std::span<const std::complex<double>>{modes}, std::span{field}};

  const auto solution = [](fft::Index i, fft::Index j, fft::Index k) {
    constexpr double step = 2 * std::numbers::pi / n;
    return std::sin(step * static_cast<double>(i)) * std::cos(2 * step * static_cast<double>(j + 2 * k));
  };
  const auto for_each = [](const fft::IndexBox& box, const auto& act) {
    for (fft::Index i = box.low[0]; i < box.high[0]; ++i) {
      for (fft::Index j = box.low[1]; j < box.high[1]; ++j) {
        for (fft::Index k = box.low[2]; k < box.high[2]; ++k) {
          act(i, j, k);
        }
      }
    }
  };
  for_each(here.box, [&](auto i, auto j, auto k) { field[here.offset(i, j, k)] = -21 * solution(i, j, k); });
  forward.run();
  const auto wave = [](fft::Index index) { return index <= n / 2 ? index : index - n; };
  for_each(waves.box, [&](auto i, auto j, auto k) {
    const fft::Index squared = wave(i) * wave(i) + wave(j) * wave(j) + k * k;
    modes[waves.offset(i, j, k)] /= squared == 0 ? 1.0 : -static_cast<double>(squared);
  });
  backward.run();
  double error = 0;
  for_each(here.box, [&](auto i, auto j, auto k) {
    error = std::max(error, std::abs(field[here.offset(i, j, k)] - solution(i, j, k)));
  });
  if (runtime.self() == plait::Rank{0}) {
    std::cout << "solved on " << here.box.extent(0) << " of " << n << " planes, "
              << (error < 1e-13 ? "to rounding" : "wrongly") << '\n';
  }
}
