// SPDX-License-Identifier: Apache-2.0
#include "cholesky/kernels/blas.hpp"

#include <algorithm>
#include <array>
#include <cblas.h>
#include <chrono>
#include <cstdlib>
#include <numeric>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "cholesky/kernels/kernels.hpp"

namespace cholesky {

namespace {

#ifdef OPENBLAS_VERSION
constexpr const char* variable = "OPENBLAS_CORETYPE";

/// The kernels that OpenBLAS should use on a processor that it does not know; empty if its own choice is good.
std::string_view better_kernels() {
#if defined(__x86_64__)
  // The fallbacks of OpenBLAS for unknown processors.
  constexpr std::array<std::string_view, 6> oldest{"Prescott", "Core2", "Penryn", "Dunnington", "Nehalem", "Generic"};
  if (std::ranges::find(oldest, std::string_view{openblas_get_corename()}) == oldest.end()) {
    return {};
  }
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl")) {
    return "SkylakeX";
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return "Haswell";
  }
#endif
  return {};
}
#endif

/// Of the calling thread.
double measure_own_rate(std::size_t tile) {
  using Clock = std::chrono::steady_clock;
  const std::vector<double> a(tile * tile, 0.5);
  std::vector<double> c(tile * tile);
  const ConstTile left{a.data(), tile, tile};
  const Tile result{c.data(), tile, tile};
  const double flops = 2.0 * static_cast<double>(tile) * static_cast<double>(tile) * static_cast<double>(tile);
  double best = 0;
  for (const Clock::time_point start = Clock::now(); Clock::now() - start < std::chrono::milliseconds{100};) {
    const Clock::time_point begin = Clock::now();
    update_transposed(left, left, result);
    const std::chrono::duration<double> took = Clock::now() - begin;
    best = std::max(best, flops / took.count());
  }
  return best;
}

}  // namespace

void prepare_blas([[maybe_unused]] char** argv) {
#ifdef OPENBLAS_VERSION
  const std::string_view better = better_kernels();
  if (!better.empty() && std::getenv(variable) == nullptr && setenv(variable, better.data(), 0) == 0) {
    execv("/proc/self/exe", argv);
    // If this fails, the program continues with the kernels that it has.
  }
  openblas_set_num_threads(1);
#endif
}

std::string describe_blas() {
#ifdef OPENBLAS_VERSION
  const std::string all{openblas_get_config()};
  const std::size_t end = all.find(' ', all.find(' ') + 1);
  return fmt::format("{}, kernels for {}", all.substr(0, end), openblas_get_corename());
#else
  return "a BLAS other than OpenBLAS";
#endif
}

double measure_product_rate(std::size_t tile, std::size_t threads) {
  std::vector<double> rates(threads);
  {
    std::vector<std::jthread> running;
    for (double& rate : rates) {
      running.emplace_back([&rate, tile] { rate = measure_own_rate(tile); });
    }
  }
  return std::reduce(rates.begin(), rates.end());
}

}  // namespace cholesky
