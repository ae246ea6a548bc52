// SPDX-License-Identifier: Apache-2.0
#include "cosmology/initial_condition.hpp"

#include <array>
#include <cmath>
#include <complex>
#include <functional>
#include <numbers>
#include <vector>

#include <fmt/format.h>

#include "plait/fft.hpp"

#include "cosmology/displacements.hpp"
#include "support/random_mode.hpp"

namespace cosmology {

namespace fft = plait::fft;
using Complex = std::complex<double>;

namespace {

/// The waves of a seed, as strong as today's by linear growth.
class RandomWaves {
 public:
  explicit RandomWaves(const InitialShape& shape) : shape_{shape}, power_{shape.universe, shape.power} {}

  [[nodiscard]] Complex operator()(const std::array<int, 3>& wave) const {
    const double k =
        2 * std::numbers::pi / shape_.box * std::sqrt(wave[0] * wave[0] + wave[1] * wave[1] + wave[2] * wave[2]);
    const bool is_decider = app::decides(wave);
    app::RandomOfMode random{shape_.seed, is_decider ? wave : std::array{-wave[0], -wave[1], -wave[2]}};
    Complex value = random.normal();
    if (shape_.is_fixed) {
      value /= std::abs(value);
    }
    return std::sqrt(power_(k) / (shape_.box * shape_.box * shape_.box)) * (is_decider ? value : std::conj(value));
  }

 private:
  const InitialShape& shape_;
  LinearPower power_;
};

/// A plane wave along x, whose particles would meet at a scale factor.
class PlaneWave {
 public:
  explicit PlaneWave(const InitialShape& shape)
      : half_{0.5 / shape.universe.expansion().growth(shape.wave_crossing)},
        phase_{std::numbers::pi / shape.particles} {}

  [[nodiscard]] Complex operator()(const std::array<int, 3>& wave) const {
    const bool is_long = std::abs(wave[0]) == 1 && wave[1] == 0 && wave[2] == 0;
    return is_long ? std::polar(half_, wave[0] * phase_) : 0;
  }

 private:
  double half_;   ///< Of the strength today.
  double phase_;  ///< Points are in the middle of their cells.
};

Displacements displacements_of(plait::Runtime& runtime, const InitialShape& shape) {
  const Contrast contrast = shape.wave_crossing > 0 ? Contrast{PlaneWave{shape}} : Contrast{RandomWaves{shape}};
  return {runtime, shape.particles, shape.box, contrast, shape.order};
}

void check(const InitialShape& shape) {
  const auto require = [](bool is_good, const char* what) {
    if (!is_good) {
      throw plait::Error{plait::ErrorCode::bad_argument, what};
    }
  };
  require(shape.particles >= 2 && shape.particles <= 4096, "--particles must be from 2 to 4096 along an axis");
  require(std::isfinite(shape.box) && shape.box > 0, "--box must be a positive length");
  require(shape.redshift >= 0 && shape.redshift < 1e4, "--redshift must be from 0 to below 10000");
  require(shape.wave_crossing >= 0, "--wave must be a scale factor");
  require(shape.universe.baryons >= 0 && shape.universe.baryons < shape.universe.matter,
          "--baryons must be from 0 to below --matter");
}

/// Calls `use(i, j, k)` for each point on this rank.
void for_points(const fft::IndexBox& box, const std::function<void(fft::Index, fft::Index, fft::Index)>& use) {
  for (fft::Index i = box.low[0]; i < box.high[0]; ++i) {
    for (fft::Index j = box.low[1]; j < box.high[1]; ++j) {
      for (fft::Index k = box.low[2]; k < box.high[2]; ++k) {
        use(i, j, k);
      }
    }
  }
}

}  // namespace

void make_initial_condition(plait::Runtime& runtime, const InitialShape& shape, Bodies& bodies) {
  check(shape);
  const Expansion expansion = shape.universe.expansion();
  const double a = 1 / (1 + shape.redshift);
  const double growth = expansion.growth(a);
  const double rate = expansion.rate(a) / expansion.hubble();
  const SecondGrowth second = second_growth(expansion.matter() / (a * a * a * rate * rate));
  const double second_share = 3.0 / 7 * growth * growth * second.factor;
  // u = a^2 dx/dt of displacements that grow as powers of the scale factor.
  const double momentum = a * a * expansion.rate(a) * expansion.growth_rate(a);
  const double second_momentum = a * a * expansion.rate(a) * second.rate;
  const double spacing = shape.box / shape.particles;
  const double mass = expansion.matter_density(gravity) * spacing * spacing * spacing;
  const Displacements displacements = displacements_of(runtime, shape);
  const fft::ArrayLayout& layout = displacements.layout();
  const auto count = static_cast<fft::Index>(shape.particles);
  for_points(layout.box, [&](fft::Index i, fft::Index j, fft::Index k) {
    const auto middle = [spacing](fft::Index index) { return (static_cast<double>(index) + 0.5) * spacing; };
    const Vector place{middle(i), middle(j), middle(k)};
    const auto offset = static_cast<std::size_t>(layout.offset(i, j, k));
    const Vector displaced = growth * displacements.first(offset);
    const Vector also = second_share * displacements.second(offset);
    const auto wrapped = [&](double x) { return x - shape.box * std::floor(x / shape.box); };
    const Vector moved = place + displaced + also;
    const std::size_t at = bodies.store.add(1);
    bodies.store.positions()[at] = {wrapped(moved.x), wrapped(moved.y), wrapped(moved.z)};
    bodies.store.ids()[at] = static_cast<std::uint64_t>((i * count + j) * count + k) + 1;
    bodies.store[Particles::kind][at] = 1;
    bodies.store[bodies.mass][at] = mass;
    bodies.store[bodies.momentum][at] = momentum * displaced + second_momentum * also;
  });
}

}  // namespace cosmology
