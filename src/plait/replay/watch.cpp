// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/watch.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stop_token>
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

Watch::Watch(const Player& player, nanoseconds stall_after, std::function<void(const std::string&)> report) {
  if (stall_after <= nanoseconds::zero()) {
    return;
  }
  thread_ = std::jthread{[&player, stall_after, report = std::move(report)](const std::stop_token& ends) {
    const nanoseconds between = std::min(stall_after / 4, nanoseconds{std::chrono::seconds{1}});
    std::uint64_t moved = player.moved();
    auto since = std::chrono::steady_clock::now();
    std::mutex mutex;
    std::condition_variable_any ended;  // waited for only
    std::unique_lock lock{mutex};
    while (!ended.wait_for(lock, ends, between, [&] { return ends.stop_requested(); })) {
      const auto now = std::chrono::steady_clock::now();
      if (player.moved() != moved) {
        moved = player.moved();
        since = now;
      } else if (now - since > stall_after) {
        report(
            fmt::format("no operation has begun or ended for {:.1f} s, and these have not ended: {}; if the exchange "
                        "takes that long, give more --stall-seconds",
                        std::chrono::duration<double>{now - since}.count(),
                        player.describe_waiting()));
        return;
      }
    }
  }};
}

}  // namespace plait::replay
