// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/replay/backend/backend.hpp"
#include "plait/replay/part.hpp"
#include "plait/replay/play_options.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::replay {

namespace detail {
struct PlayState;
}

/// The result of one repetition on one rank.
struct Played {
  nanoseconds begin{};                                    ///< By the recorder's clock.
  nanoseconds end{};                                      ///< When the last operation ended.
  nanoseconds computing{};                                ///< Sum of all streams.
  nanoseconds calling{};                                  ///< In calls of the backend, sum of all threads.
  std::uint64_t messages = 0;                             ///< Sent and received.
  std::uint64_t bytes = 0;                                ///< Of those messages.
  std::map<std::string, std::vector<nanoseconds>> calls;  ///< The length of each call, by function.

  template <class Archive>
  void serialize(Archive& archive) {
    archive(begin, end, computing, calling, messages, bytes, calls);
  }
};

/// Plays one rank's part of a schedule on a backend.
///
/// Streams are independent: each does its operations in order, and continues after a wait when its operations are
/// complete. A thread with one stream uses the waits of the backend; a thread with several streams serves those that
/// can continue. Operations without a wait are tested periodically, and before `play` returns. Threads: one calls
/// `play`, and is the first of those in the options; any may call `moved` and `describe_waiting`.
class Player {
 public:
  /// Borrows backend and part for its life. Cost: memory for the state of each operation.
  Player(Backend& backend, const RankPart& part, PlayOptions options);
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;
  ~Player();

  /// Plays the part once and records its calls and messages. All ranks should call it at about the same time.
  /// Throws: what the backend throws; `Error` with `network` for a payload that differs from what was sent.
  [[nodiscard]] Played play(trace::Recorder& recorder);

  /// The number of operations started and ended so far; a replay that cannot continue does not change it.
  [[nodiscard]] std::uint64_t moved() const noexcept;
  /// Describes the first few messages and collectives in flight, in a sentence.
  [[nodiscard]] std::string describe_waiting() const;

 private:
  std::unique_ptr<detail::PlayState> state_;
};

}  // namespace plait::replay
