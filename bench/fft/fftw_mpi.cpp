// SPDX-License-Identifier: Apache-2.0
#include "fft/fftw_mpi.hpp"

#include <stdexcept>

#ifdef BENCH_HAS_FFTW_MPI
#include <fftw3-mpi.h>
#endif

namespace bench_fft {

#ifdef BENCH_HAS_FFTW_MPI

struct FftwMpi::State {
  std::array<std::ptrdiff_t, 3> lengths{};
  std::array<std::ptrdiff_t, 2> planes{};
  std::array<std::ptrdiff_t, 2> spectral_planes{};
  std::ptrdiff_t complex_count = 0;
  double* physical = nullptr;
  fftw_complex* spectral = nullptr;
  fftw_plan forward = nullptr;
  fftw_plan backward = nullptr;
};

FftwMpi::FftwMpi(MPI_Comm world, const std::array<std::ptrdiff_t, 3>& lengths, Order order)
    : state_{std::make_unique<State>()} {
  State& state = *state_;
  fftw_mpi_init();
  state.lengths = lengths;
  const std::ptrdiff_t half = lengths[2] / 2 + 1;
  const std::array dimensions{lengths[0], lengths[1], half};
  state.complex_count = fftw_mpi_local_size_3d_transposed(dimensions[0],
                                                          dimensions[1],
                                                          dimensions[2],
                                                          world,
                                                          &state.planes[1],
                                                          &state.planes[0],
                                                          &state.spectral_planes[1],
                                                          &state.spectral_planes[0]);
  if (order == Order::natural) {
    state.spectral_planes = state.planes;
  }
  state.physical = fftw_alloc_real(static_cast<std::size_t>(2 * state.complex_count));
  state.spectral = fftw_alloc_complex(static_cast<std::size_t>(state.complex_count));
  const unsigned out = order == Order::transposed ? FFTW_MPI_TRANSPOSED_OUT : 0U;
  const unsigned in = order == Order::transposed ? FFTW_MPI_TRANSPOSED_IN : 0U;
  state.forward = fftw_mpi_plan_dft_r2c_3d(
      lengths[0], lengths[1], lengths[2], state.physical, state.spectral, world, FFTW_MEASURE | out);
  state.backward = fftw_mpi_plan_dft_c2r_3d(
      lengths[0], lengths[1], lengths[2], state.spectral, state.physical, world, FFTW_MEASURE | in);
  if (state.forward == nullptr || state.backward == nullptr) {
    throw std::runtime_error{"FFTW-MPI has no plan for these lengths"};
  }
}

FftwMpi::~FftwMpi() {
  fftw_destroy_plan(state_->forward);
  fftw_destroy_plan(state_->backward);
  fftw_free(state_->physical);
  fftw_free(state_->spectral);
}

std::string FftwMpi::version() {
  return fftw_version;
}

std::span<double> FftwMpi::physical() const {
  return {state_->physical, static_cast<std::size_t>(2 * state_->complex_count)};
}

std::span<const std::complex<double>> FftwMpi::spectral() const {
  // FFTW says that its complex numbers are those of the language.
  return {reinterpret_cast<const std::complex<double>*>(state_->spectral),
          static_cast<std::size_t>(state_->complex_count)};
}

void FftwMpi::forward() {
  fftw_execute(state_->forward);
}

void FftwMpi::backward() {
  fftw_execute(state_->backward);
}

#else

struct FftwMpi::State {
  std::array<std::ptrdiff_t, 3> lengths{};
  std::array<std::ptrdiff_t, 2> planes{};
  std::array<std::ptrdiff_t, 2> spectral_planes{};
};

FftwMpi::FftwMpi(MPI_Comm /*world*/, const std::array<std::ptrdiff_t, 3>& /*lengths*/, Order /*order*/) {
  throw std::runtime_error{"not built, for want of FFTW's MPI library (Debian: libfftw3-mpi-dev)"};
}
FftwMpi::~FftwMpi() = default;
std::string FftwMpi::version() {
  return {};
}
std::span<double> FftwMpi::physical() const {
  return {};
}
std::span<const std::complex<double>> FftwMpi::spectral() const {
  return {};
}
void FftwMpi::forward() {}
void FftwMpi::backward() {}

#endif

std::array<std::ptrdiff_t, 2> FftwMpi::planes() const {
  return state_->planes;
}

std::array<std::ptrdiff_t, 2> FftwMpi::spectral_planes() const {
  return state_->spectral_planes;
}

std::ptrdiff_t FftwMpi::row_length() const {
  return 2 * (state_->lengths[2] / 2 + 1);
}

}  // namespace bench_fft
