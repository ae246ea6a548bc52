// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <memory>
#include <numbers>

#include "plait/base/error.hpp"

#include "pic/poisson.hpp"

#ifdef PIC_WITH_FFTW
#include <fftw3.h>
#endif

namespace pic {

bool has_fourier() noexcept {
#ifdef PIC_WITH_FFTW
  return true;
#else
  return false;
#endif
}

namespace detail {

#ifdef PIC_WITH_FFTW

namespace {

struct Axis {
  int length = 0;  ///< Unknown nodes.
  fftw_r2r_kind forward{};
  fftw_r2r_kind backward{};
  double scale = 1;                ///< What there and back multiplies by.
  std::vector<double> eigenvalue;  ///< Of minus the second difference.
};

Axis make_axis(bool is_periodic, std::int32_t cells, double spacing) {
  Axis axis;
  axis.length = is_periodic ? cells : cells - 1;
  axis.forward = is_periodic ? FFTW_R2HC : FFTW_RODFT00;
  axis.backward = is_periodic ? FFTW_HC2R : FFTW_RODFT00;
  axis.scale = is_periodic ? cells : 2.0 * cells;
  for (int k = 0; k < axis.length; ++k) {
    // Half-complex order: the cosines, then the sines backwards. Between walls the sines begin with one half wave.
    const int waves = is_periodic ? std::min(k, cells - k) : k + 1;
    const double angle = (is_periodic ? 1.0 : 0.5) * std::numbers::pi * waves / cells;
    const double sine = 2 * std::sin(angle) / spacing;
    axis.eigenvalue.push_back(sine * sine);
  }
  return axis;
}

void transform(std::vector<int> lengths, std::vector<fftw_r2r_kind> kinds, std::vector<double>& values) {
  const std::unique_ptr<std::remove_pointer_t<fftw_plan>, decltype(&fftw_destroy_plan)> plan{
      fftw_plan_r2r(static_cast<int>(lengths.size()),
                    lengths.data(),
                    values.data(),
                    values.data(),
                    kinds.data(),
                    FFTW_ESTIMATE),  // measures nothing, so that every run computes the same
      &fftw_destroy_plan};
  if (plan == nullptr) {
    throw plait::Error{plait::ErrorCode::bad_argument, "FFTW has no transform for this grid: use --poisson cg"};
  }
  fftw_execute(plan.get());
}

}  // namespace

template <int D>
void solve_by_fourier(const Grid<D>& grid, std::vector<double>& values) {
  if (values.empty()) {
    return;
  }
  std::vector<Axis> axes;
  std::vector<int> lengths;
  std::vector<fftw_r2r_kind> forward;
  std::vector<fftw_r2r_kind> backward;
  double scale = 1;
  for (int d = 0; d < D; ++d) {
    axes.push_back(make_axis(grid.is_periodic(d), grid.cells[d], grid.spacing[d]));
  }
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {  // FFTW's last axis runs fastest
    lengths.push_back(axis->length);
    forward.push_back(axis->forward);
    backward.push_back(axis->backward);
    scale *= axis->scale;
  }
  transform(lengths, forward, values);
  Box<D> waves;
  for (int d = 0; d < D; ++d) {
    waves.high[d] = axes[static_cast<std::size_t>(d)].length;
  }
  std::size_t next = 0;
  for_each_place(waves, [&](const Place<D>& wave) {
    double eigenvalue = 0;
    for (int d = 0; d < D; ++d) {
      eigenvalue += axes[static_cast<std::size_t>(d)].eigenvalue[static_cast<std::size_t>(wave[d])];
    }
    double& value = values[next++];
    value = eigenvalue > 0 ? value / (eigenvalue * scale) : 0;
  });
  transform(lengths, backward, values);
}

#else

template <int D>
void solve_by_fourier(const Grid<D>&, std::vector<double>&) {
  plait::expect(false, "called only where has_fourier() is true");
}

#endif

template void solve_by_fourier<2>(const Grid<2>&, std::vector<double>&);
template void solve_by_fourier<3>(const Grid<3>&, std::vector<double>&);

}  // namespace detail

}  // namespace pic
