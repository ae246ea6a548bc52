// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "plait/base/clock.hpp"

#include "alltoall/family.hpp"
#include "alltoall/grid.hpp"
#include "alltoall/work.hpp"

namespace alltoall {

/// What the command line asks for.
struct Options {
  std::optional<GridShape> grid;
  std::vector<std::size_t> block_bytes;
  std::vector<std::string> variants;  ///< Names; all when empty.
  WorkKind work = WorkKind::sincos;
  double work_fraction = 1;  ///< Of the blocking communication's time.
  Settings settings;
  bool has_barriers = true;    ///< Before each all-to-all, which hides skew.
  std::size_t turns = 9;       ///< In which the variants alternate.
  std::size_t iterations = 5;  ///< In one turn.
  double seconds_max = 1;      ///< For one variant at one size; 3 turns are always done.
  bool is_model = false;
  plait::nanoseconds look_period = std::chrono::microseconds{200};  ///< Of the runtime's timer, while data moves.

  /// What `bench::Report` is to see: the program's name and the options that all benchmarks share.
  std::vector<std::string> report_arguments;
};

/// Reads the command line. Prints help, or what is wrong with the command line, and ends the program then. The same on
/// all ranks.
[[nodiscard]] Options parse(int argc, char** argv);

}  // namespace alltoall
