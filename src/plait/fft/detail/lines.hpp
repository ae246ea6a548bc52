// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>

#include "plait/fft/execution.hpp"
#include "plait/fft/layout.hpp"
#include "plait/fft/plan.hpp"

struct fftw_plan_s;

namespace plait::fft::detail {

using Complex = std::complex<double>;

/// Sequences that are transformed at once along axes 0 and 1: two cache lines of each row of memory.
inline constexpr Index batch_width = 8;

inline constexpr std::size_t cache_line_bytes = 64;

/// Memory for complex numbers, aligned to cache lines, not set.
class Memory {
 public:
  Memory() = default;
  explicit Memory(Index count);
  [[nodiscard]] Complex* data() const noexcept { return data_.get(); }

 private:
  struct Free {
    void operator()(Complex* data) const noexcept { ::operator delete(data, std::align_val_t{cache_line_bytes}); }
  };
  std::unique_ptr<Complex, Free> data_;
};

struct DestroyFftwPlan {
  void operator()(fftw_plan_s* plan) const noexcept;
};
using FftwPlan = std::unique_ptr<fftw_plan_s, DestroyFftwPlan>;

/// Transforms of `width` sequences at once, in place: element i of sequence s at `data[i * width + s]`.
class BatchLines {
 public:
  BatchLines() = default;
  /// Plans nothing when `width` is 0.
  BatchLines(Index length, Index width, Direction direction, Effort effort);
  /// `data` aligned to cache lines. Any number of threads at once, on data of their own.
  void run(Complex* data) const;

 private:
  FftwPlan plan_;
};

/// Transforms of `count` rows along axis 2 between physical memory of any alignment and rows of complex numbers.
class RowLines {
 public:
  RowLines() = default;
  /// Plans nothing when `count` is 0.
  RowLines(Index length, Index count, Kind kind, Effort effort);
  /// `spectral` has `length / 2 + 1` numbers a row, or `length`, and is aligned to cache lines.
  void forward(const void* physical, Complex* spectral) const;
  /// Spoils `spectral`.
  void backward(Complex* spectral, void* physical) const;

 private:
  Kind kind_ = Kind::real;
  FftwPlan forward_;
  FftwPlan backward_;
};

}  // namespace plait::fft::detail
