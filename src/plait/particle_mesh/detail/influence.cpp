// SPDX-License-Identifier: Apache-2.0
#include "plait/particle_mesh/detail/influence.hpp"

#include <cmath>
#include <numbers>

#include "plait/particle_mesh/detail/spline.hpp"

namespace plait::particles::detail {

using fft::Index;

Influence::Wave Influence::wave(Index index, Index length, double spacing, double split_scale) {
  constexpr int images = 2;
  const double pi = std::numbers::pi;
  const Index number = 2 * index > length ? index - length : index;
  Wave result;
  for (int m = -images; m <= images; ++m) {
    const double phase = pi * (static_cast<double>(number) / static_cast<double>(length) + m);  // k_m spacing / 2
    const double k = 2 * phase / spacing;
    const double spline = phase == 0 ? 1 : std::pow(std::sin(phase) / phase, spline_order);
    result.sum += spline * spline;
    result.square_sum += k * k * spline * spline;
    if (m == 0) {
      result.filter = std::exp(-k * k * split_scale * split_scale) * spline * spline;
    }
  }
  return result;
}

Influence::Influence(const PeriodicMesh& mesh, double split_scale) {
  const std::array spacing{mesh.spacing.x, mesh.spacing.y, mesh.spacing.z};
  double volume = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const Index length = mesh.lengths[axis];
    volume *= spacing[axis] * static_cast<double>(length);
    for (Index index = 0; index < length; ++index) {
      waves_[axis].push_back(wave(index, length, spacing[axis], split_scale));
    }
  }
  per_volume_ = 1 / volume;
  mean_ = 4 * std::numbers::pi * split_scale * split_scale * per_volume_;
}

void Influence::apply(const fft::ArrayLayout& layout,
                      std::span<std::complex<double>> spectrum,
                      Index first,
                      Index last) const {
  const double factor = -4 * std::numbers::pi * per_volume_;
  for (Index i = first; i < last; ++i) {
    const Wave& x = waves_[0][static_cast<std::size_t>(i)];
    for (Index j = layout.box.low[1]; j < layout.box.high[1]; ++j) {
      const Wave& y = waves_[1][static_cast<std::size_t>(j)];
      for (Index k = layout.box.low[2]; k < layout.box.high[2]; ++k) {
        const Wave& z = waves_[2][static_cast<std::size_t>(k)];
        const double aliased =
            x.square_sum * y.sum * z.sum + x.sum * y.square_sum * z.sum + x.sum * y.sum * z.square_sum;
        const bool is_mean = i == 0 && j == 0 && k == 0;
        spectrum[static_cast<std::size_t>(layout.offset(i, j, k))] *=
            is_mean ? mean_ : factor * x.filter * y.filter * z.filter / (x.sum * y.sum * z.sum * aliased);
      }
    }
  }
}

}  // namespace plait::particles::detail
