// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include <mpi.h>

namespace bench_fft {

/// How FFTW-MPI leaves the spectral array.
enum class Order {
  transposed,  ///< Divided along axis 1, as plait's: half of the exchanges.
  natural,     ///< Divided along axis 0, as the physical array.
};

/// Transforms of a real array there and back by FFTW's own MPI library, planned with FFTW_MEASURE. Threads: one.
class FftwMpi {
 public:
  /// Collective. Throws: `std::runtime_error` where the library is not there, or has no plan.
  FftwMpi(MPI_Comm world, const std::array<std::ptrdiff_t, 3>& lengths, Order order);
  FftwMpi(const FftwMpi&) = delete;
  FftwMpi& operator=(const FftwMpi&) = delete;
  FftwMpi(FftwMpi&&) = delete;
  FftwMpi& operator=(FftwMpi&&) = delete;
  ~FftwMpi();

  /// FFTW's version.
  [[nodiscard]] static std::string version();
  /// Planes of axis 0 on this rank: the first, and how many.
  [[nodiscard]] std::array<std::ptrdiff_t, 2> planes() const;
  /// Of the spectral array, along the axis that it is divided by: the first, and how many.
  [[nodiscard]] std::array<std::ptrdiff_t, 2> spectral_planes() const;
  /// Row after row of lengths[2] numbers, each followed by the padding that FFTW wants: `row_length` apart.
  [[nodiscard]] std::span<double> physical() const;
  [[nodiscard]] std::ptrdiff_t row_length() const;
  [[nodiscard]] std::span<const std::complex<double>> spectral() const;
  void forward();
  /// Destroys the spectral array.
  void backward();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace bench_fft
