// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "plait/fft/exchange.hpp"
#include "plait/fft/plan.hpp"
#include "plait/plait.hpp"

namespace bench_fft {

/// One case.
struct Case {
  plait::fft::Index length = 128;  ///< Of a cube.
  std::size_t variables = 1;       ///< In flight at once.
  plait::fft::TransformGrid grid;  ///< 0: chosen.
  std::uint32_t pieces = 0;        ///< Of a block of PLT. 0: chosen.
  std::size_t rounds = 9;          ///< All subjects alternate; each transforms all variables there and back.
  double seconds_max = 8;          ///< Of all rounds; 3 are always done.
  std::vector<std::string> variants{"PLT", "PLB", "MPI", "MIT"};
};

/// Seconds of each round on the slowest rank, by subject: the variants; "FFTW-MPI transposed" and "FFTW-MPI natural";
/// "computing", whose exchanges move nothing; "exchanges by plait" and "exchanges by MPI", which compute nothing.
struct Measured {
  std::map<std::string, std::vector<double>> seconds;
  std::vector<std::string> left_out;  ///< A sentence each.
  std::string fftw_version;           ///< Empty where FFTW-MPI is not built.
  std::string plan;                   ///< Descriptions of the plans of PLT and of `automatic`.
};

/// Measures all subjects and checks every result. Collective. Throws: `plait::Error` when a result is wrong.
[[nodiscard]] Measured measure(plait::Runtime& runtime, const Case& wanted);

}  // namespace bench_fft
