// SPDX-License-Identifier: Apache-2.0
#include "dns/initial_field.hpp"

#include <cmath>
#include <cstdlib>
#include <numbers>
#include <span>

#include "support/random_mode.hpp"

namespace dns {

namespace {

void clear(Fields& fields) {
  for (Array& u : fields.u) {
    u.assign(u.size(), Complex{});
  }
}

/// Adds `value` to the mode k of an array, if this rank has it and the plan keeps it.
void add_mode(const Layout& layout, Array& array, const std::array<int, 3>& k, Complex value) {
  std::array<Index, 3> i{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (axis < 2 && 2 * std::abs(k[axis]) >= layout.lengths[axis] && k[axis] != 0) {
      return;  // this grid has no such mode
    }
    i[axis] = k[axis] < 0 && axis < 2 ? k[axis] + layout.lengths[axis] : k[axis];
    if (i[axis] < layout.box.low[axis] || i[axis] >= layout.box.high[axis]) {
      return;
    }
  }
  array[static_cast<std::size_t>(layout.offset(i[0], i[1], i[2]))] += value;
}

/// Adds value exp(i k.x) and its conjugate.
void add_pair(const Layout& layout, Array& array, const std::array<int, 3>& k, Complex value) {
  add_mode(layout, array, k, value);
  add_mode(layout, array, {-k[0], -k[1], -k[2]}, std::conj(value));
}

/// Rogallo's velocity: random amplitude and phase in the two directions normal to k; the mean of |u|^2 is 1.
std::array<Complex, 3> random_velocity(const std::array<int, 3>& k, std::uint64_t seed) {
  const bool is_decider = app::decides(k);
  app::RandomOfMode random{seed, is_decider ? k : std::array<int, 3>{-k[0], -k[1], -k[2]}};
  const Complex first = random.normal() * std::numbers::sqrt2 / 2.0;
  const Complex second = random.normal() * std::numbers::sqrt2 / 2.0;
  const double sign = is_decider ? 1 : -1;
  const double x = sign * k[0];
  const double y = sign * k[1];
  const double z = sign * k[2];
  const double size = std::sqrt(x * x + y * y + z * z);
  const double across = std::hypot(x, y);
  std::array<Complex, 3> u{first, second, 0};
  if (across > 0) {
    u = {(first * size * y + second * x * z) / (size * across),
         (second * y * z - first * size * x) / (size * across),
         -second * across / size};
  }
  if (!is_decider) {
    u = {std::conj(u[0]), std::conj(u[1]), std::conj(u[2])};
  }
  return u;
}

/// Calls `work(place, k)` for this rank's modes, except the mean and the Nyquist modes.
template <class Work>
void for_modes(const Layout& layout, Work work) {
  for (Index i0 = layout.box.low[0]; i0 < layout.box.high[0]; ++i0) {
    for (Index i1 = layout.box.low[1]; i1 < layout.box.high[1]; ++i1) {
      for (Index i2 = layout.box.low[2]; i2 < layout.box.high[2]; ++i2) {
        const std::array<int, 3> k{static_cast<int>(wave_number(i0, layout.lengths[0])),
                                   static_cast<int>(wave_number(i1, layout.lengths[1])),
                                   static_cast<int>(i2)};
        const bool is_half = 2 * i0 == layout.lengths[0] || 2 * i1 == layout.lengths[1];
        if (!is_half && k != std::array<int, 3>{}) {
          work(static_cast<std::size_t>(layout.offset(i0, i1, i2)), k);
        }
      }
    }
  }
}

std::size_t shell_of(const std::array<int, 3>& k) {
  return static_cast<std::size_t>(std::sqrt(1.0 * k[0] * k[0] + 1.0 * k[1] * k[1] + 1.0 * k[2] * k[2]) + 0.5);
}

}  // namespace

void set_taylor_green(const Layout& spectral, Fields& fields) {
  clear(fields);
  for (const int sy : {-1, 1}) {
    for (const int sz : {-1, 1}) {
      // sin x cos y cos z and -cos x sin y cos z: of exp(i (x + sy y + sz z)), -i/8 and i sy / 8.
      add_pair(spectral, fields.u[0], {1, sy, sz}, Complex{0, -0.125});
      add_pair(spectral, fields.u[1], {1, sy, sz}, Complex{0, 0.125 * sy});
    }
  }
}

void set_taylor_green_2d(const Layout& spectral, Fields& fields, int k) {
  clear(fields);
  for (const int sy : {-1, 1}) {
    add_pair(spectral, fields.u[0], {k, sy * k, 0}, Complex{0, -0.25});
    add_pair(spectral, fields.u[1], {k, sy * k, 0}, Complex{0, 0.25 * sy});
  }
}

void set_abc(const Layout& spectral, Fields& fields, const std::array<double, 3>& abc, int k) {
  clear(fields);
  for (std::size_t a = 0; a < 3; ++a) {
    // abc[a] times the sine along the axis before a in u[a], and the cosine in the next component.
    std::array<int, 3> along{};
    along[(a + 2) % 3] = k;
    add_pair(spectral, fields.u[a], along, Complex{0, -abc[a] / 2});
    add_pair(spectral, fields.u[(a + 1) % 3], along, Complex{abc[a] / 2, 0});
  }
}

void set_random(plait::Runtime& runtime,
                const Layout& spectral,
                Fields& fields,
                const std::function<double(double)>& spectrum,
                std::uint64_t seed) {
  clear(fields);
  const auto& n = spectral.lengths;
  const std::array<int, 3> corner{static_cast<int>(n[0] / 2), static_cast<int>(n[1] / 2), static_cast<int>(n[2])};
  const std::size_t shells = shell_of(corner) + 1;
  std::vector<double> energy(shells);
  for_modes(spectral, [&](std::size_t place, const std::array<int, 3>& k) {
    const std::array<Complex, 3> u = random_velocity(k, seed);
    const double weight = k[2] > 0 ? 1 : 0.5;
    for (std::size_t c = 0; c < 3; ++c) {
      fields.u[c][place] = u[c];
      energy[shell_of(k)] += weight * std::norm(u[c]);
    }
  });
  const plait::Group group{runtime.messages()};
  plait::all_reduce(group, std::span{energy}).wait();
  for (std::size_t shell = 0; shell < shells; ++shell) {
    const double wanted = spectrum(static_cast<double>(shell));
    energy[shell] = energy[shell] > 0 && wanted > 0 ? std::sqrt(wanted / energy[shell]) : 0;
  }
  for_modes(spectral, [&](std::size_t place, const std::array<int, 3>& k) {
    for (auto& u : fields.u) {
      u[place] *= energy[shell_of(k)];
    }
  });
}

std::function<double(double)> peaked_spectrum(double energy, double peak) {
  const auto shape = [peak](double k) { return std::pow(k, 4) * std::exp(-2 * k * k / (peak * peak)); };
  double sum = 0;
  for (double k = 1; k < 8 * peak + 8; ++k) {
    sum += shape(k);
  }
  return [shape, factor = energy / sum](double k) { return factor * shape(k); };
}

void set_single_mode(const Layout& spectral, Array& scalar, const std::array<int, 3>& k, double amplitude) {
  scalar.assign(scalar.size(), Complex{});
  add_pair(spectral, scalar, k, amplitude / 2);
}

}  // namespace dns
