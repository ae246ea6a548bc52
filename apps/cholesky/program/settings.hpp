// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plait/plait.hpp"

namespace cholesky {

/// The options of the command line.
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
  bool is_checked = true;
  std::string output;
  std::vector<std::string> command;  ///< The whole command line, for the trace.
};

/// The runtime's options: those of the environment, replaced by those of the command line.
/// Throws: `plait::Error` that names the option, when a value makes no sense.
[[nodiscard]] plait::Options runtime_options(const Settings& settings);

}  // namespace cholesky
