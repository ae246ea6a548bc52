// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cholesky {

/// The options of the command line. Where an option is not set, the environment's applies.
struct Settings {
  std::size_t size = 4096;
  std::string matrix;
  std::string dataset;
  std::uint64_t seed = 1;
  std::optional<double> diagonal;
  bool is_lu = false;
  std::size_t tile = 0;  ///< 0: by the size of the matrix.
  std::string grid;
  std::optional<std::uint32_t> workers;
  std::string driver;
  std::string packing;
  bool has_multicast = true;
  bool submits_all = false;
  bool is_checked = true;
  std::string output;
  std::vector<std::string> command;  ///< The whole command line, for the trace.
};

/// Factors the matrix that the settings name on all ranks of MPI_COMM_WORLD, and prints a report. Collective.
/// Returns the program's exit status: 1 when the residual is too large.
/// Throws: `app::AgreedError` on every rank for bad options, input and output, `plait::Error` for the rest.
[[nodiscard]] int run(const Settings& settings);

}  // namespace cholesky
