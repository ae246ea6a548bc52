// SPDX-License-Identifier: Apache-2.0
#include "plait/fft/detail/lines.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <fftw3.h>
#include <sys/mman.h>

#include "plait/base/error.hpp"

namespace plait::fft::detail {

namespace {

static_assert(sizeof(fftw_complex) == sizeof(Complex));

fftw_complex* fftw(Complex* data) {
  return reinterpret_cast<fftw_complex*>(data);
}

unsigned flags_of(Effort effort) {
  constexpr std::array<unsigned, 3> flags{FFTW_ESTIMATE, FFTW_MEASURE, FFTW_PATIENT};
  return flags[static_cast<std::size_t>(effort)];
}

constexpr std::size_t huge_page_bytes = std::size_t{2} << 20U;

FftwPlan checked(fftw_plan plan) {
  if (plan == nullptr) {
    throw Error{ErrorCode::bad_argument, "FFTW has no plan for a transform of this length; choose other lengths"};
  }
  return FftwPlan{plan};
}

}  // namespace

Memory::Memory(Index count) {
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(Complex);
  const std::size_t alignment = bytes >= 2 * huge_page_bytes ? huge_page_bytes : cache_line_bytes;
  data_ = std::unique_ptr<Complex, FreeAligned>{
      static_cast<Complex*>(::operator new(bytes, std::align_val_t{alignment})), FreeAligned{alignment}};
  if (alignment == huge_page_bytes) {
    (void)madvise(data_.get(), bytes / huge_page_bytes * huge_page_bytes, MADV_HUGEPAGE);  // best effort
  }
}

Index strip_width(Index length) noexcept {
  constexpr Index bytes = 256 * 1024;
  constexpr Index narrowest = 8;  // two cache lines
  constexpr Index widest = 64;
  return std::clamp(bytes / (static_cast<Index>(sizeof(Complex)) * length) / narrowest * narrowest, narrowest, widest);
}

void DestroyFftwPlan::operator()(fftw_plan_s* plan) const noexcept {
  fftw_destroy_plan(plan);
}

StripLines::StripLines(const Shape& shape, Direction direction, Effort effort) {
  if (shape.width == 0) {
    return;
  }
  const Memory memory{(shape.length - 1) * shape.stride + shape.width};
  const int n = static_cast<int>(shape.length);
  const int width = static_cast<int>(shape.width);
  const int stride = static_cast<int>(shape.stride);
  fftw_complex* const data = fftw(memory.data());
  const int sign = direction == Direction::forward ? FFTW_FORWARD : FFTW_BACKWARD;
  fftw_make_planner_thread_safe();
  plan_ = checked(
      fftw_plan_many_dft(1, &n, width, data, nullptr, stride, 1, data, nullptr, stride, 1, sign, flags_of(effort)));
}

void StripLines::run(Complex* data) const {
  fftw_execute_dft(plan_.get(), fftw(data), fftw(data));
}

bool StripLines::can_run(const void* data) noexcept {
  return fftw_alignment_of(static_cast<double*>(const_cast<void*>(data))) == 0;  // FFTW's signature; it does not write
}

RowLines::RowLines(Index length, Index count, Kind kind, Effort effort) : kind_{kind} {
  if (count == 0) {
    return;
  }
  const bool is_real = kind == Kind::real;
  const int n = static_cast<int>(length);
  const int rows = static_cast<int>(count);
  const int spectral_length = is_real ? n / 2 + 1 : n;
  const unsigned flags = flags_of(effort);
  physical_bytes_ = static_cast<std::size_t>(length * count) * (is_real ? sizeof(double) : sizeof(Complex));
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

void RowLines::forward(const std::byte* physical, Complex* spectral, Complex* spare) const {
  void* from = const_cast<std::byte*>(physical);  // FFTW's signature; the plan preserves its input
  if (!StripLines::can_run(from)) {
    from = std::memcpy(spare, physical, physical_bytes_);
  }
  if (kind_ == Kind::real) {
    fftw_execute_dft_r2c(forward_.get(), static_cast<double*>(from), fftw(spectral));
  } else {
    fftw_execute_dft(forward_.get(), static_cast<fftw_complex*>(from), fftw(spectral));
  }
}

void RowLines::backward(Complex* spectral, std::byte* physical, Complex* spare) const {
  void* const to = StripLines::can_run(physical) ? static_cast<void*>(physical) : spare;
  if (kind_ == Kind::real) {
    fftw_execute_dft_c2r(backward_.get(), fftw(spectral), static_cast<double*>(to));
  } else {
    fftw_execute_dft(backward_.get(), fftw(spectral), static_cast<fftw_complex*>(to));
  }
  if (to == spare) {
    std::memcpy(physical, spare, physical_bytes_);
  }
}

}  // namespace plait::fft::detail
