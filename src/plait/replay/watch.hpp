// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "plait/base/clock.hpp"
#include "plait/replay/part.hpp"
#include "plait/replay/play_options.hpp"
#include "plait/replay/player.hpp"

namespace plait::replay {

/// How long a player may be still: the seconds given, besides as long as any stream began nothing in the log, where
/// that counts. 0 for never.
[[nodiscard]] nanoseconds stall_after(double seconds, const RankPart& part, const PlayOptions& options);

/// Checks a player periodically, on a thread of its own, and reports once when nothing has moved for too long.
class Watch {
 public:
  /// Borrows the player. `report` is called on the watch's own thread with a sentence that names what is under way.
  Watch(const Player& player, nanoseconds stall_after, std::function<void(const std::string& sentence)> report);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch();

 private:
  void check(const Player& player, nanoseconds stall_after);

  std::function<void(const std::string&)> report_;
  std::mutex mutex_;
  std::condition_variable ends_;
  bool has_ended_ = false;
  std::thread thread_;
};

}  // namespace plait::replay
