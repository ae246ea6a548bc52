// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/watch.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

namespace plait::replay {

nanoseconds stall_after(double seconds, const RankPart& part, const PlayOptions& options) {
  if (seconds <= 0) {
    return nanoseconds::zero();
  }
  const auto given = std::chrono::duration_cast<nanoseconds>(std::chrono::duration<double>{seconds});
  if (options.computing == Computing::drop && options.rate == 0) {
    return given;
  }
  const double slower = options.rate > 0 ? 1 / options.rate : 1;
  return given + nanoseconds{static_cast<nanoseconds::rep>(static_cast<double>(part.quiet_max.count()) * slower)};
}

Watch::Watch(const Player& player, nanoseconds stall_after, std::function<void(const std::string&)> report)
    : report_{std::move(report)} {
  if (stall_after > nanoseconds::zero()) {
    thread_ = std::thread{[this, &player, stall_after] { check(player, stall_after); }};
  }
}

Watch::~Watch() {
  {
    const std::lock_guard lock{mutex_};
    has_ended_ = true;
  }
  ends_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void Watch::check(const Player& player, nanoseconds stall_after) {
  const nanoseconds between = std::min(stall_after / 4, nanoseconds{std::chrono::seconds{1}});
  std::uint64_t moved = player.moved();
  auto since = std::chrono::steady_clock::now();
  std::unique_lock lock{mutex_};
  while (!ends_.wait_for(lock, between, [this] { return has_ended_; })) {
    const auto now = std::chrono::steady_clock::now();
    if (player.moved() != moved) {
      moved = player.moved();
      since = now;
    } else if (now - since > stall_after) {
      report_(
          fmt::format("nothing has moved for {:.1f} s, and these have not ended: {}; if it only takes that long, give "
                      "more --stall-seconds",
                      std::chrono::duration<double>{now - since}.count(),
                      player.describe_waiting()));
      return;
    }
  }
}

}  // namespace plait::replay
