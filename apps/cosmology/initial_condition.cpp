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

#include "support/random_mode.hpp"

namespace cosmology {

namespace fft = plait::fft;
using Complex = std::complex<double>;

namespace {

/// The displacements of a lattice's points on this rank, of disturbances as strong as today's by linear growth.
class Displacements {
 public:
  Displacements(plait::Runtime& runtime, const InitialShape& shape)
      : shape_{shape},
        power_{shape.universe, shape.power},
        plan_{runtime.messages(),
              runtime.scheduler(),
              {shape.particles, shape.particles, shape.particles},
              {.effort = fft::Effort::estimate}},
        spectrum_(static_cast<std::size_t>(plan_.spectral().size())) {
    for (int axis = 0; axis < 3; ++axis) {
      along_[axis].resize(static_cast<std::size_t>(plan_.physical().size()));
      fill_spectrum(axis);
      fft::Execution{plan_, spectrum_, along_[axis]}.run();
    }
  }

  [[nodiscard]] const fft::ArrayLayout& layout() const { return plan_.physical(); }
  [[nodiscard]] Vector at(std::size_t offset) const {
    return {along_[0][offset], along_[1][offset], along_[2][offset]};
  }

 private:
  /// Sets the transform of the displacements along an axis: i k / k^2 times that of the density contrast.
  void fill_spectrum(int axis) {
    const fft::ArrayLayout& layout = plan_.spectral();
    const auto count = static_cast<fft::Index>(shape_.particles);
    const auto number = [count](fft::Index index) {
      return static_cast<int>(2 * index > count ? index - count : index);
    };
    for (fft::Index i = layout.box.low[0]; i < layout.box.high[0]; ++i) {
      for (fft::Index j = layout.box.low[1]; j < layout.box.high[1]; ++j) {
        for (fft::Index k = layout.box.low[2]; k < layout.box.high[2]; ++k) {
          const bool is_shortest = 2 * i == count || 2 * j == count || 2 * k == count;  // without an opposite
          const std::array wave{number(i), number(j), number(k)};
          spectrum_[static_cast<std::size_t>(layout.offset(i, j, k))] =
              is_shortest || wave == std::array{0, 0, 0} ? 0 : displacement(wave, axis);
        }
      }
    }
  }

  [[nodiscard]] Complex displacement(const std::array<int, 3>& wave, int axis) const {
    const double unit = 2 * std::numbers::pi / shape_.box;
    const double square = wave[0] * wave[0] + wave[1] * wave[1] + wave[2] * wave[2];
    return Complex{0, wave[axis] / (unit * square)} * contrast(wave, unit * std::sqrt(square));
  }

  [[nodiscard]] Complex contrast(const std::array<int, 3>& wave, double k) const {
    const bool is_decider = app::decides(wave);
    app::RandomOfMode random{shape_.seed, is_decider ? wave : std::array{-wave[0], -wave[1], -wave[2]}};
    Complex value = random.normal();
    if (shape_.is_fixed) {
      value /= std::abs(value);
    }
    return std::sqrt(power_(k) / (shape_.box * shape_.box * shape_.box)) * (is_decider ? value : std::conj(value));
  }

  const InitialShape& shape_;
  LinearPower power_;
  fft::Plan plan_;
  std::vector<Complex> spectrum_;
  std::array<std::vector<double>, 3> along_;
};

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
  // u = a^2 dx/dt of a displacement that grows as `growth`.
  const double momentum = a * a * expansion.rate(a) * expansion.growth_rate(a);
  const double spacing = shape.box / shape.particles;
  const double mass = expansion.matter_density(gravity) * spacing * spacing * spacing;
  const Displacements displacements{runtime, shape};
  const fft::ArrayLayout& layout = displacements.layout();
  const auto count = static_cast<fft::Index>(shape.particles);
  for_points(layout.box, [&](fft::Index i, fft::Index j, fft::Index k) {
    const auto middle = [spacing](fft::Index index) { return (static_cast<double>(index) + 0.5) * spacing; };
    const Vector place{middle(i), middle(j), middle(k)};
    Vector displaced = growth * displacements.at(static_cast<std::size_t>(layout.offset(i, j, k)));
    if (shape.wave_crossing > 0) {
      const double wave = 2 * std::numbers::pi / shape.box;
      displaced = {-growth / expansion.growth(shape.wave_crossing) * std::sin(wave * place.x) / wave, 0, 0};
    }
    const auto wrapped = [&](double x) { return x - shape.box * std::floor(x / shape.box); };
    const Vector moved = place + displaced;
    const std::size_t at = bodies.store.add(1);
    bodies.store.positions()[at] = {wrapped(moved.x), wrapped(moved.y), wrapped(moved.z)};
    bodies.store.ids()[at] = static_cast<std::uint64_t>((i * count + j) * count + k) + 1;
    bodies.store[Particles::kind][at] = 1;
    bodies.store[bodies.mass][at] = mass;
    bodies.store[bodies.momentum][at] = momentum * displaced;
  });
}

}  // namespace cosmology
