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

/// How long a player may stand still: the seconds given, besides as long as any lane began nothing in the log, where
/// that counts. 0 for never.
[[nodiscard]] nanoseconds stall_after(double seconds, const Part& part, const PlayOptions& options);

/// Looks at a player now and then, on a thread of its own, and tells once when nothing has moved for too long.
class Watch {
 public:
  /// Borrows the player. `tell` is called on the watch's own thread with a sentence that names what is under way.
  Watch(const Player& player, nanoseconds stall_after, std::function<void(const std::string& sentence)> tell);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  Watch(Watch&&) = delete;
  Watch& operator=(Watch&&) = delete;
  ~Watch();

 private:
  void look(const Player& player, nanoseconds stall_after);

  std::function<void(const std::string&)> tell_;
  std::mutex mutex_;
  std::condition_variable ends_;
  bool has_ended_ = false;
  std::thread thread_;
};

}  // namespace plait::replay
