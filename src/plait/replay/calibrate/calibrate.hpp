// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "plait/replay/calibrate/pair.hpp"

namespace plait::replay::calibrating {

/// One kind of measurement of messages of one size: a value for each round.
struct Series {
  std::string what;  ///< A name of `docs/how-to/predict.md`, such as "one way".
  std::uint64_t bytes = 0;
  std::vector<double> times_ns;
};

struct CalibrationOptions {
  std::vector<std::uint64_t> sizes;  ///< Of messages, in bytes; rising.
  std::uint32_t rounds = 5;          ///< All series are measured once in each.
  double share_ns = 5e6;             ///< Least time that a value's repetitions take together.
};

/// What `plait fit` needs to know of messages between two ranks.
struct Calibration {
  std::uint64_t eager_bytes_max = 0;  ///< The longest message whose send ends before its receive begins.
  std::vector<Series> series;         ///< On rank 0; empty on rank 1.
};

/// Measures messages between the two ranks of `pair`, while `at_round` is called before each round with its number,
/// from 0. Series of one round lie side by side in time, so that a change of the machine's speed concerns all of them.
/// Collective.
[[nodiscard]] Calibration calibrate(const Pair& pair,
                                    const CalibrationOptions& options,
                                    const std::function<void(std::uint32_t)>& at_round);

}  // namespace plait::replay::calibrating
