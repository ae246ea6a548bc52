// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/comm/collectives/group.hpp"

#include "alltoall/subject.hpp"
#include "alltoall/work.hpp"
#include "support/report.hpp"

namespace alltoall {

/// What the command line asks for.
struct Options {
  std::optional<plait::comm::GroupGrid> grid;
  std::vector<std::size_t> block_bytes;
  std::vector<std::string> variants;  ///< Names; all when empty.
  WorkKind work = WorkKind::sincos;
  double work_fraction = 1;  ///< Of the blocking communication's time.
  Settings settings;
  bool has_barriers = true;    ///< Before each all-to-all, which hides skew.
  std::size_t turns = 0;       ///< In which the variants alternate.
  std::size_t iterations = 5;  ///< In one turn.
  double seconds_max = 0;      ///< For one variant at one size; 3 turns are always done.
  plait::nanoseconds poll_period = std::chrono::microseconds{200};  ///< Of the runtime's timer, while data moves.
};

/// Reads the command line. Ends the program for a wrong one, and for help. The same on all ranks.
[[nodiscard]] bench::Report parse(int argc, char** argv, Options& options);

}  // namespace alltoall
