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

/// One repetition, on one rank.
struct Played {
  nanoseconds begin{};                                    ///< By the recorder.
  nanoseconds end{};                                      ///< The last operation had ended.
  nanoseconds computing{};                                ///< Of all streams together.
  nanoseconds calling{};                                  ///< In calls of the backend, all threads together.
  std::uint64_t messages = 0;                             ///< Sent and received.
  std::uint64_t bytes = 0;                                ///< In them.
  std::map<std::string, std::vector<nanoseconds>> calls;  ///< The length of each call, by function.

  template <class Archive>
  void serialize(Archive& archive) {
    archive(begin, end, computing, calling, messages, bytes, calls);
  }
};

/// Plays one rank's part of a schedule on a backend.
///
/// Streams go their own ways: each does its operations in order, and goes on after a wait when what it names has ended.
/// With one thread and one stream, waits are the backend's own; with several streams, one thread serves those that can
/// go on. What no wait names is tested periodically, and before `play` returns. Threads: `play` by one, which is one of
/// those that the options ask for; `moved` and `describe_waiting` by any.
class Player {
 public:
  /// Borrows all but the options, for its life. Cost: memory for the state of each operation.
  Player(Backend& backend, const RankPart& part, PlayOptions options);
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;
  ~Player();

  /// Plays it once, and writes what it does to `recorder`. All ranks begin together, as far as the caller can arrange.
  /// Throws: what the backend throws; `Error` with `network` for a message whose payload is not what was sent.
  [[nodiscard]] Played play(trace::Recorder& recorder);

  /// Rises whenever an operation begins or ends: when it stays the same although no rank computes, something is wrong.
  [[nodiscard]] std::uint64_t moved() const noexcept;
  /// What is under way and not at its end: a sentence that names the first few messages and collectives.
  [[nodiscard]] std::string describe_waiting() const;

 private:
  std::unique_ptr<detail::PlayState> state_;
};

}  // namespace plait::replay
