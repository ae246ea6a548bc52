// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "plait/base/clock.hpp"
#include "plait/replay/part.hpp"
#include "plait/replay/play_options.hpp"
#include "plait/replay/player.hpp"

namespace plait::replay {

/// Returns how long a player may make no progress: `seconds`, plus the longest time for which a stream of the log began
/// nothing, if the replay keeps those times. 0: no limit.
[[nodiscard]] nanoseconds stall_after(double seconds, const RankPart& part, const PlayOptions& options);

/// Checks a player periodically on a thread of its own, and reports once if it has made no progress for `stall_after`.
class Watch {
 public:
  /// Borrows the player. The watch's thread calls `report` with a sentence that names the operations in flight.
  Watch(const Player& player, nanoseconds stall_after, std::function<void(const std::string& sentence)> report);

 private:
  std::jthread thread_;
};

}  // namespace plait::replay
