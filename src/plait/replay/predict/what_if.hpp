// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plait/base/error.hpp"
#include "plait/replay/grid.hpp"
#include "plait/replay/predict/platform.hpp"
#include "plait/replay/predict/predict.hpp"
#include "plait/replay/schedule.hpp"

namespace plait::replay {

/// The input of a prediction.
struct Scenario {
  std::shared_ptr<const Schedule> schedule;
  Platform platform;
  PredictOptions options;
  GridChoice grid_choice{};
  std::optional<RankGrid> grid{};  ///< Of the ranks; nothing: found in the schedule when it is needed.
  std::uint32_t dimension = 0;     ///< `Growth::dimension`.
};

/// One change of a scenario.
struct WhatIf {
  enum class Kind : std::uint8_t {
    latency,    ///< Multiplies L and the latencies of links by `value`.
    bandwidth,  ///< Multiplies the bandwidth of all links by `value`.
    overhead,   ///< Multiplies o_s, o_r and O by `value`.
    eager,      ///< Sends messages of up to `value` bytes eagerly.
    progress,   ///< Changes the progress model; in the background every `value` nanoseconds.
    aggregate,  ///< Packs the messages to each rank between two waits.
    compute,    ///< Multiplies computing times by `value`.
    cores,      ///< Runs the tasks of a host on `value` cores, perfectly balanced.
    tile,       ///< Copies the ranks `value` times, or by `copies`, joined at their edges: `enlarge`.
    ranks,      ///< The same problem on `value` ranks, a multiple of the recorded ones.
    scale,      ///< A problem `value` times as large, on the same ranks.
    placement,  ///< Places `value` ranks on each host.
  };
  Kind kind = Kind::latency;
  double value = 1;
  ProgressModel progress = ProgressModel::ideal;
  std::vector<std::uint32_t> copies{};  ///< Of `tile`: along each dimension of the grid.

  /// As in the table of `plait predict`: "latency x0.5".
  [[nodiscard]] std::string name() const;
};

/// Returns the scenario with all changes, one after the other. Error: `bad_argument` if one is not possible.
[[nodiscard]] Result<Scenario> with(Scenario scenario, const std::vector<WhatIf>& what_ifs);

/// Parses "x0.5", "0.5" or "50%". Error: `bad_argument`, also if it is not above 0.
[[nodiscard]] Result<double> parse_factor(const std::string& text);

/// Parses "64KiB", "1MB" or "4096". Error: `bad_argument`.
[[nodiscard]] Result<std::uint64_t> parse_bytes(const std::string& text);

/// Parses the copies of `tile`: "8", or "4x2" along each dimension. Error: `bad_argument`.
[[nodiscard]] Result<WhatIf> parse_tile(const std::string& text);

/// Parses "ideal", "calls", or "background:10us" (also "background:10000" nanoseconds). Error: `bad_argument`.
[[nodiscard]] Result<WhatIf> parse_progress(const std::string& text);

/// The changes that are tried to find which of them helps most.
[[nodiscard]] std::vector<WhatIf> usual_what_ifs(const Platform& platform);

}  // namespace plait::replay
