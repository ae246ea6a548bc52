// SPDX-License-Identifier: Apache-2.0
#include "plait/fft/detail/lines.hpp"

#include <fftw3.h>

#include "plait/base/error.hpp"

namespace plait::fft::detail {

namespace {

static_assert(sizeof(fftw_complex) == sizeof(Complex));

fftw_complex* fftw(Complex* data) {
  return reinterpret_cast<fftw_complex*>(data);
}

unsigned flags_of(Effort effort) {
  switch (effort) {
    case Effort::estimate:
      return FFTW_ESTIMATE;
    case Effort::measure:
      return FFTW_MEASURE;
    case Effort::patient:
      return FFTW_PATIENT;
  }
  return FFTW_ESTIMATE;
}

FftwPlan checked(fftw_plan plan) {
  if (plan == nullptr) {
    throw Error{ErrorCode::bad_argument, "FFTW makes no plan for a transform of this length"};
  }
  return FftwPlan{plan};
}

}  // namespace

Memory::Memory(Index count)
    : data_{static_cast<Complex*>(
          ::operator new(static_cast<std::size_t>(count) * sizeof(Complex), std::align_val_t{cache_line_bytes}))} {}

void DestroyFftwPlan::operator()(fftw_plan_s* plan) const noexcept {
  fftw_destroy_plan(plan);
}

BatchLines::BatchLines(Index length, Index width, Direction direction, Effort effort) {
  if (width == 0) {
    return;
  }
  const Memory memory{length * width};
  const int n = static_cast<int>(length);
  const int stride = static_cast<int>(width);
  fftw_complex* const data = fftw(memory.data());
  const int sign = direction == Direction::forward ? FFTW_FORWARD : FFTW_BACKWARD;
  fftw_make_planner_thread_safe();
  plan_ = checked(
      fftw_plan_many_dft(1, &n, stride, data, nullptr, stride, 1, data, nullptr, stride, 1, sign, flags_of(effort)));
}

void BatchLines::run(Complex* data) const {
  fftw_execute_dft(plan_.get(), fftw(data), fftw(data));
}

RowLines::RowLines(Index length, Index count, Kind kind, Effort effort) : kind_{kind} {
  if (count == 0) {
    return;
  }
  const bool is_real = kind == Kind::real;
  const int n = static_cast<int>(length);
  const int rows = static_cast<int>(count);
  const int spectral_length = is_real ? n / 2 + 1 : n;
  const unsigned flags = flags_of(effort) | FFTW_UNALIGNED;
  const Memory physical{length * count};
  const Memory spectral{spectral_length * count};
  fftw_complex* const other = fftw(spectral.data());
  fftw_make_planner_thread_safe();
  if (is_real) {
    auto* const numbers = reinterpret_cast<double*>(physical.data());
    forward_ = checked(fftw_plan_many_dft_r2c(
        1, &n, rows, numbers, nullptr, 1, n, other, nullptr, 1, spectral_length, flags | FFTW_PRESERVE_INPUT));
    backward_ = checked(fftw_plan_many_dft_c2r(
        1, &n, rows, other, nullptr, 1, spectral_length, numbers, nullptr, 1, n, flags | FFTW_DESTROY_INPUT));
  } else {
    fftw_complex* const numbers = fftw(physical.data());
    forward_ = checked(fftw_plan_many_dft(
        1, &n, rows, numbers, nullptr, 1, n, other, nullptr, 1, n, FFTW_FORWARD, flags | FFTW_PRESERVE_INPUT));
    backward_ = checked(fftw_plan_many_dft(
        1, &n, rows, other, nullptr, 1, n, numbers, nullptr, 1, n, FFTW_BACKWARD, flags | FFTW_DESTROY_INPUT));
  }
}

void RowLines::forward(const void* physical, Complex* spectral) const {
  void* const from = const_cast<void*>(physical);  // FFTW's signature; the plan preserves its input
  if (kind_ == Kind::real) {
    fftw_execute_dft_r2c(forward_.get(), static_cast<double*>(from), fftw(spectral));
  } else {
    fftw_execute_dft(forward_.get(), static_cast<fftw_complex*>(from), fftw(spectral));
  }
}

void RowLines::backward(Complex* spectral, void* physical) const {
  if (kind_ == Kind::real) {
    fftw_execute_dft_c2r(backward_.get(), fftw(spectral), static_cast<double*>(physical));
  } else {
    fftw_execute_dft(backward_.get(), fftw(spectral), static_cast<fftw_complex*>(physical));
  }
}

}  // namespace plait::fft::detail
