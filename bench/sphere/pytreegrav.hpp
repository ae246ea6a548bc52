// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "support/report.hpp"

namespace bench {

/// What pytreegrav takes for the forces in a homogeneous sphere at theta 0.5, a number a round.
struct Pytreegrav {
  std::vector<double> seconds;
  std::vector<double> error;  ///< Root mean square, relative.
};

/// Runs it on `threads` threads, after the ranks have ended. Nothing, and a note in the report, if it is not here.
[[nodiscard]] Pytreegrav run_pytreegrav(Report& report, std::size_t count, unsigned threads);

}  // namespace bench
