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
  points,  ///< LogGPS: messages compete at the interfaces of hosts only.
  flows,   ///< Messages in flight share the links of their routes, max-min fairly.
};

/// What the computing times of a schedule are.
enum class ComputingTimes : std::uint8_t {
  alone,         ///< Of the program by itself: what the network takes of its processor comes in addition.
  with_network,  ///< Of a recording on the same machine: with what the network took.
};

struct PredictOptions {
  Model model = Model::points;
  /// Multiplies the computing times of the log; 0 removes them.
  double compute_factor = 1;
  /// Flows: how long rates may remain after others have started or ended, as a fraction of the mean time that messages
  /// in flight still need. 0 is exact, and slow with many thousands of messages in flight.
  double tolerance = 0.05;
  bool keeps_times = false;  ///< Fills `Prediction::times`.
  ComputingTimes computing = ComputingTimes::alone;
};

/// The eager messages of a rank that arrived before their receives, and took memory of the MPI library until then.
struct Unexpected {
  std::uint32_t count_max = 0;  ///< At one time.
  std::uint64_t bytes_max = 0;  ///< At one time.
  std::uint64_t copied = 0;     ///< In all: each is copied once more.
  std::uint64_t copied_bytes = 0;
};

/// The times of a rank, summed over its streams.
struct RankTimes {
  nanoseconds end{};  ///< End of its last operation.
  nanoseconds compute{};
  nanoseconds wait{};  ///< In waits.
  Unexpected unexpected;
};

/// The times of an operation since the beginning; `unknown` if they do not apply.
struct OperationTimes {
  static constexpr nanoseconds unknown{-1};
  nanoseconds posted = unknown;
  nanoseconds handed = unknown;            ///< Receive: matched.
  nanoseconds moved = unknown;             ///< Send: out of its buffer. Receive: all bytes have arrived.
  nanoseconds notified = unknown;          ///< End of the wait for it; of a wait: its own end.
  std::uint32_t partner = trace::nothing;  ///< Index of the other end in `Prediction::times`.
};

struct Prediction {
  nanoseconds total{};
  std::vector<RankTimes> ranks;
  std::uint64_t messages = 0;  ///< Including those of collectives.
  std::uint64_t bytes = 0;
  std::size_t memory_bytes = 0;       ///< Of the engine, without the schedule.
  std::vector<OperationTimes> times;  ///< Of all operations, by rank, stream and operation.
  /// With `ComputingTimes::with_network`: of each operation that computes, what the network took in its time, in the
  /// order of `times`.
  std::vector<nanoseconds> stolen;
  std::vector<std::string> notices;  ///< Errors that did not stop it, such as a message without a receive.

  /// The mean over the ranks of the time outside computing, and of the time in waits.
  [[nodiscard]] nanoseconds communication() const;
  [[nodiscard]] nanoseconds wait() const;
};

/// Predicts how long the schedule takes on the platform.
///
/// Deterministic. Cost: about a microsecond a message with `points`. Error: `bad_input` if the schedule cannot finish,
/// with a message that it waits for, or if the ranks do not fit on the platform.
[[nodiscard]] Result<Prediction> predict(const Schedule& schedule,
                                         const Platform& platform,
                                         const PredictOptions& options = {});

}  // namespace plait::replay
