// SPDX-License-Identifier: Apache-2.0
#include "dns/diagnostics.hpp"

#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace dns {

namespace {

/// Calls `work(place, k0, k1, k2, weight)` for each mode kept on this rank; weight: 2 if it represents its conjugate.
template <class Work>
void for_kept(const Modes& modes, Work work) {
  const Box& box = modes.layout().box;
  for (Index i0 = box.low[0]; i0 < box.high[0]; ++i0) {
    const double k0 = modes.k(0)[static_cast<std::size_t>(i0 - box.low[0])];
    for (Index i1 = box.low[1]; i1 < box.high[1]; ++i1) {
      const double k1 = modes.k(1)[static_cast<std::size_t>(i1 - box.low[1])];
      const auto first = static_cast<std::size_t>(modes.layout().offset(i0, i1, box.low[2]));
      const auto count = static_cast<std::size_t>(modes.kept(i0, i1));
      for (std::size_t j = 0; j < count; ++j) {
        const double k2 = modes.k(2)[j];
        work(first + j, k0, k1, k2, k2 > 0 ? 2.0 : 1.0);
      }
    }
  }
}

std::size_t shell_of(double square) {
  return static_cast<std::size_t>(std::sqrt(square) + 0.5);
}

double real_product(Complex left, Complex right) {
  return left.real() * right.real() + left.imag() * right.imag();
}

/// Adds this rank's part of one scalar to `sums`: dissipation / 2 diffusivity, -production / 2, the mean, then a value
/// per shell.
void sum_scalar(const Modes& modes,
                const Fields& fields,
                const Array& theta,
                const std::array<double, 3>& gradient,
                std::span<double> sums) {
  for_kept(modes, [&](std::size_t p, double k0, double k1, double k2, double weight) {
    const double k_square = k0 * k0 + k1 * k1 + k2 * k2;
    const double square = weight * std::norm(theta[p]);
    sums[0] += k_square * square;
    for (std::size_t c = 0; c < 3; ++c) {
      sums[1] += weight * gradient[c] * real_product(fields.u[c][p], theta[p]);
    }
    if (k_square == 0) {
      sums[2] = theta[p].real();
    } else {
      sums[3 + shell_of(k_square)] += square / 2;
    }
  });
}

/// Adds this rank's part of the velocity to `sums`: enstrophy, helicity, <(div u)^2>, then the energy per shell.
void sum_velocity(const Modes& modes, const Fields& fields, std::span<double> sums) {
  const auto& u = fields.u;
  for_kept(modes, [&](std::size_t p, double k0, double k1, double k2, double weight) {
    const double k_square = k0 * k0 + k1 * k1 + k2 * k2;
    const Complex a = u[0][p];
    const Complex b = u[1][p];
    const Complex c = u[2][p];
    const double energy = weight / 2 * (std::norm(a) + std::norm(b) + std::norm(c));
    // k x u, which is -i times the vorticity.
    const Complex x = k1 * c - k2 * b;
    const Complex y = k2 * a - k0 * c;
    const Complex z = k0 * b - k1 * a;
    const auto twist = [](Complex of_u, Complex of_curl) {
      return of_curl.real() * of_u.imag() - of_curl.imag() * of_u.real();
    };
    sums[0] += weight / 2 * (std::norm(x) + std::norm(y) + std::norm(z));
    sums[1] += weight / 2 * (twist(a, x) + twist(b, y) + twist(c, z));
    sums[2] += weight * std::norm(k0 * a + k1 * b + k2 * c);
    sums[3 + shell_of(k_square)] += energy;
  });
}

void derive(const Physics& physics, Diagnostics& out) {
  out.dissipation = 2 * physics.viscosity * out.enstrophy;
  const double u_square = 2.0 / 3 * out.energy;
  double over_k = 0;
  for (std::size_t shell = 1; shell < out.spectrum.size(); ++shell) {
    over_k += out.spectrum[shell] / static_cast<double>(shell);
  }
  if (out.energy > 0 && out.enstrophy > 0) {
    out.taylor_scale = std::sqrt(5 * out.energy / out.enstrophy);
    out.integral_scale = std::numbers::pi / (2 * u_square) * over_k;
    out.turnover_time = out.integral_scale / std::sqrt(u_square);
  }
  if (physics.viscosity > 0 && out.dissipation > 0) {
    out.taylor_reynolds = std::sqrt(u_square) * out.taylor_scale / physics.viscosity;
    out.kolmogorov_scale = std::pow(physics.viscosity * physics.viscosity * physics.viscosity / out.dissipation, 0.25);
    out.k_max_eta = out.k_max * out.kolmogorov_scale;
  }
}

}  // namespace

void measure_modes(
    const Modes& modes, const Fields& fields, const Physics& physics, plait::Group& group, Diagnostics& out) {
  const std::size_t width = 3 + modes.shells();
  const std::size_t scalars = physics.scalars.size();
  std::vector<double> sums(width * (1 + scalars));
  const auto part = [&](std::size_t i) { return std::span{sums}.subspan(i * width, width); };
  sum_velocity(modes, fields, part(0));
  for (std::size_t s = 0; s < scalars; ++s) {
    sum_scalar(modes, fields, fields.scalars[s], physics.scalars[s].mean_gradient, part(1 + s));
  }
  plait::all_reduce(group, std::span{sums}).wait();

  const std::span<double> velocity = part(0);
  out.enstrophy = velocity[0];
  out.helicity = velocity[1];
  out.divergence = std::sqrt(velocity[2]);
  out.spectrum.assign(velocity.begin() + 3, velocity.end());
  out.energy = std::accumulate(out.spectrum.begin(), out.spectrum.end(), 0.0);
  out.k_max = modes.k_max();
  derive(physics, out);
  out.scalars.clear();
  for (std::size_t s = 0; s < scalars; ++s) {
    const std::span<double> mine = part(1 + s);
    ScalarDiagnostics one;
    one.dissipation = 2 * physics.viscosity / physics.scalars[s].schmidt * mine[0];
    one.production = -2 * mine[1];
    one.mean = mine[2];
    one.spectrum.assign(mine.begin() + 3, mine.end());
    one.variance = 2 * std::accumulate(one.spectrum.begin(), one.spectrum.end(), 0.0);
    out.scalars.push_back(std::move(one));
  }
}

void add_transfer(const Modes& modes,
                  const Fields& fields,
                  const std::array<Array, 3>& right_side,
                  double factor,
                  std::span<double> transfer) {
  for_kept(modes, [&](std::size_t p, double k0, double k1, double k2, double weight) {
    double sum = 0;
    for (std::size_t c = 0; c < 3; ++c) {
      sum += real_product(fields.u[c][p], right_side[c][p]);
    }
    transfer[shell_of(k0 * k0 + k1 * k1 + k2 * k2)] += factor * weight * sum;
  });
}

}  // namespace dns
