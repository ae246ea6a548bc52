// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <fftw3-mpi.h>
#include <stdexcept>

#include <mpi.h>

namespace bench_fft {

/// How FFTW-MPI leaves the spectral array.
enum class Order {
  transposed,  ///< Divided along axis 1, as plait's: needs half of the exchanges.
  natural,     ///< Divided along axis 0, like the physical array.
};

/// Transforms of a real cube there and back by FFTW's own MPI library, planned with FFTW_MEASURE. Threads: one.
class FftwMpi {
 public:
  /// Collective. Throws: `std::runtime_error` if FFTW has no plan.
  FftwMpi(MPI_Comm world, std::ptrdiff_t length, Order order) : row_length{2 * (length / 2 + 1)} {
    fftw_mpi_init();
    const std::ptrdiff_t count = fftw_mpi_local_size_3d_transposed(
        length, length, row_length / 2, world, &planes[1], &planes[0], &spectral_planes[1], &spectral_planes[0]);
    spectral_planes = order == Order::natural ? planes : spectral_planes;
    physical = fftw_alloc_real(static_cast<std::size_t>(2 * count));
    fftw_complex* const modes = fftw_alloc_complex(static_cast<std::size_t>(count));
    spectral = reinterpret_cast<std::complex<double>*>(modes);  // FFTW documents that they are the same
    const unsigned out = order == Order::transposed ? FFTW_MPI_TRANSPOSED_OUT : 0U;
    const unsigned in = order == Order::transposed ? FFTW_MPI_TRANSPOSED_IN : 0U;
    forward_ = fftw_mpi_plan_dft_r2c_3d(length, length, length, physical, modes, world, FFTW_MEASURE | out);
    backward_ = fftw_mpi_plan_dft_c2r_3d(length, length, length, modes, physical, world, FFTW_MEASURE | in);
    if (forward_ == nullptr || backward_ == nullptr) {
      throw std::runtime_error{"FFTW-MPI has no plan for these lengths"};
    }
  }
  FftwMpi(const FftwMpi&) = delete;
  FftwMpi& operator=(const FftwMpi&) = delete;
  ~FftwMpi() {
    fftw_destroy_plan(forward_);
    fftw_destroy_plan(backward_);
    fftw_free(physical);
    fftw_free(spectral);
  }

  void forward() { fftw_execute(forward_); }
  /// Destroys the spectral array.
  void backward() { fftw_execute(backward_); }

  std::ptrdiff_t row_length;                        ///< From row to row of `physical`, with the padding.
  std::array<std::ptrdiff_t, 2> planes{};           ///< Of axis 0 on this rank: the first, and how many.
  std::array<std::ptrdiff_t, 2> spectral_planes{};  ///< Of the spectral array, along the axis that divides it.
  double* physical = nullptr;
  std::complex<double>* spectral = nullptr;

 private:
  fftw_plan forward_ = nullptr;
  fftw_plan backward_ = nullptr;
};

}  // namespace bench_fft
