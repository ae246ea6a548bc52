// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/base/error.hpp"
#include "plait/replay/predict/platform.hpp"
#include "plait/replay/schedule.hpp"

namespace plait::replay {

enum class Model : std::uint8_t {
  points,  ///< LogGPS: messages meet at their hosts' interfaces only.
  flows,   ///< All that move at one time share the links of their routes, max-min fairly.
};

struct PredictOptions {
  Model model = Model::points;
  /// What the program computes takes this times as long as logged; 0 leaves it out.
  double compute_factor = 1;
  /// Of flows: how long shares may stay as they are when others have started or ended, as a part of the mean time that
  /// the messages on their way still need. 0 is exact, and slow where many thousands are on their way at one time.
  double tolerance = 0.05;
  bool keeps_times = false;  ///< Fills `Prediction::times`.
};

/// Where a rank's time goes; streams added up.
struct RankTimes {
  nanoseconds end{};  ///< From the beginning to the end of its last operation.
  nanoseconds compute{};
  nanoseconds wait{};  ///< In waits.
};

/// When an operation was posted and ended, from the beginning; `unknown` where it does not apply.
struct OperationTimes {
  static constexpr nanoseconds unknown{-1};
  nanoseconds posted = unknown;
  nanoseconds handed = unknown;            ///< Send: to the interface. Receive: matched.
  nanoseconds moved = unknown;             ///< Send: left. Receive: all bytes are here.
  nanoseconds notified = unknown;          ///< The wait that names it has ended; of a wait: its end.
  std::uint32_t partner = trace::nothing;  ///< The other end's place in `Prediction::times`.
};

struct Prediction {
  nanoseconds total{};
  std::vector<RankTimes> ranks;
  std::uint64_t messages = 0;  ///< Those of collectives too.
  std::uint64_t bytes = 0;
  std::size_t memory_bytes = 0;       ///< Of the engine, without the schedule.
  std::vector<OperationTimes> times;  ///< Of all operations: ranks, in each its streams, in each its operations.
  std::vector<std::string> notices;   ///< What was odd and did not stop it: messages without a receive, for example.

  /// Means over the ranks: time outside computing, and in waits.
  [[nodiscard]] nanoseconds communication() const;
  [[nodiscard]] nanoseconds wait() const;
};

/// How long the schedule takes on the platform.
///
/// Deterministic. Cost: about a microsecond a message with points. Error: `bad_input` when it cannot finish; the
/// sentence names a message that is waited for. Also when the ranks do not fit on the platform.
[[nodiscard]] Result<Prediction> predict(const Schedule& schedule,
                                         const Platform& platform,
                                         const PredictOptions& options = {});

}  // namespace plait::replay
