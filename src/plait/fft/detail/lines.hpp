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

/// The number of sequences along axis 0 in a batch, which fits a second-level cache and gives long contiguous reads.
[[nodiscard]] Index strip_width(Index length) noexcept;

inline constexpr std::size_t cache_line_bytes = 64;

struct FreeAligned {
  std::size_t alignment = cache_line_bytes;
  void operator()(Complex* data) const noexcept { ::operator delete(data, std::align_val_t{alignment}); }
};

/// Uninitialised memory for complex numbers, aligned to cache lines; large memory is in huge pages if available.
class Memory {
 public:
  Memory() = default;
  explicit Memory(Index count);
  [[nodiscard]] Complex* data() const noexcept { return data_.get(); }

 private:
  std::unique_ptr<Complex, FreeAligned> data_;
};

struct DestroyFftwPlan {
  void operator()(fftw_plan_s* plan) const noexcept;
};
using FftwPlan = std::unique_ptr<fftw_plan_s, DestroyFftwPlan>;

/// Transforms batches of `width` adjacent sequences in place: element i of sequence s at `data[i * stride + s]`.
class StripLines {
 public:
  /// The shape of a batch.
  struct Shape {
    Index length = 0;
    Index width = 0;
    Index stride = 0;
  };

  StripLines() = default;
  /// Creates no plan if the width is 0.
  StripLines(const Shape& shape, Direction direction, Effort effort);
  /// Expects: `can_run(data)`. Threads: any number at once, on different data.
  void run(Complex* data) const;
  /// Whether memory is aligned for vector instructions, as `Memory` is.
  [[nodiscard]] static bool can_run(const void* data) noexcept;

 private:
  FftwPlan plan_;
};

/// Transforms `count` rows along axis 2 between physical memory and rows of complex numbers.
class RowLines {
 public:
  RowLines() = default;
  /// Creates no plan if `count` is 0.
  RowLines(Index length, Index count, Kind kind, Effort effort);
  /// `spectral` has `length / 2 + 1` numbers per row, or `length`. Copies `physical` to `spare` first unless it is
  /// aligned for vector instructions: this is faster than FFTW's unaligned algorithms.
  void forward(const std::byte* physical, Complex* spectral, Complex* spare) const;
  /// Overwrites `spectral`.
  void backward(Complex* spectral, std::byte* physical, Complex* spare) const;

 private:
  Kind kind_ = Kind::real;
  std::size_t physical_bytes_ = 0;
  FftwPlan forward_;
  FftwPlan backward_;
};

}  // namespace plait::fft::detail
