// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plait/base/error.hpp"
#include "plait/replay/predict/platform.hpp"
#include "plait/replay/predict/predict.hpp"
#include "plait/replay/schedule.hpp"

namespace plait::replay {

/// What a prediction is made of.
struct Scenario {
  std::shared_ptr<const Schedule> schedule;
  Platform platform;
  PredictOptions options;
};

/// One change of a scenario.
struct WhatIf {
  enum class Kind : std::uint8_t {
    latency,    ///< L and the latencies of links, times `value`.
    bandwidth,  ///< Of all links, times `value`.
    overhead,   ///< o_s, o_r and O, times `value`.
    eager,      ///< Messages up to `value` bytes are sent without asking.
    progress,   ///< As `progress`; in the background every `value` nanoseconds.
    aggregate,  ///< The messages to one rank between two waits are one message.
    compute,    ///< Computing takes `value` times as long; 0 leaves it out.
    cores,      ///< A host's tasks on `value` cores in the place of the platform's, shared out perfectly.
    tile,       ///< The ranks `value` times, each copy with its own neighbours.
    placement,  ///< `value` ranks on each host.
  };
  Kind kind = Kind::latency;
  double value = 1;
  ProgressModel progress = ProgressModel::ideal;

  /// As on the command line: "latency x0.5".
  [[nodiscard]] std::string name() const;
};

/// The scenario with the change. Error: `bad_argument` when it makes no sense there.
[[nodiscard]] Result<Scenario> with(const Scenario& scenario, const WhatIf& what_if);

/// With all of them, one after the other.
[[nodiscard]] Result<Scenario> with(const Scenario& scenario, const std::vector<WhatIf>& what_ifs);

/// "x0.5", "0.5" or "50%". Error: `bad_argument` when it is none, or not above 0.
[[nodiscard]] Result<double> parse_factor(const std::string& text);

/// "64KiB", "1MB", "4096". Error: `bad_argument`.
[[nodiscard]] Result<std::uint64_t> parse_bytes(const std::string& text);

/// "ideal", "calls", or "background:10us" (also "background:10000" nanoseconds). Error: `bad_argument`.
[[nodiscard]] Result<WhatIf> parse_progress(const std::string& text);

/// The changes that every machine and program could have: what is tried to find out what helps most.
[[nodiscard]] std::vector<WhatIf> usual_what_ifs(const Platform& platform);

}  // namespace plait::replay
