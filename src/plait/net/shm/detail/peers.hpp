// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/base/clock.hpp"
#include "plait/base/error.hpp"
#include "plait/base/id.hpp"
#include "plait/net/shm/detail/layout.hpp"
#include "plait/net/shm/detail/process.hpp"

namespace plait::net::detail::shm {

/// The processes of the other ranks: whether they still live, and the error when they do not.
class Peers {
 public:
  struct Settings {
    nanoseconds interval{0};       ///< Between two checks.
    std::vector<Rank> called;      ///< As `ShmOptions::called`.
    const Clock* clock = nullptr;  ///< Borrowed.
  };

  Peers(const Segment& segment, std::uint32_t self, std::vector<ProcessId> processes, Settings settings)
      : segment_{segment},
        self_{self},
        processes_{std::move(processes)},
        settings_{std::move(settings)},
        last_check_{settings_.clock->now()},
        last_check_of_one_{last_check_} {}

  [[nodiscard]] const ProcessId& process(std::uint32_t rank) const { return processes_[rank]; }
  [[nodiscard]] bool is_in_this_process(std::uint32_t rank) const { return processes_[rank] == processes_[self_]; }
  /// Whether its driver has ended in good order.
  [[nodiscard]] bool has_left(std::uint32_t rank) const {
    return segment_.has_left(rank).load(std::memory_order_acquire) != 0;  // with release in leave()
  }
  /// Notifies the others that this rank's driver has ended.
  void leave() noexcept { segment_.has_left(self_).store(1, std::memory_order_release); }  // with acquire above

  /// Throws `Error` with `network` and the rank.
  [[noreturn]] void fail(std::uint32_t rank, const char* what) const {
    const std::uint32_t called = settings_.called.empty() ? rank : settings_.called[rank].value();
    throw Error{ErrorCode::network,
                fmt::format("shared memory with rank {} (process {}): {}", called, processes_[rank].number, what),
                Rank{rank}};
  }

  /// Checks the next few processes once each interval, for about 40 us. Throws when one has ended.
  void watch() {
    const nanoseconds now = settings_.clock->now();
    if (now - last_check_ < settings_.interval) {
      return;
    }
    last_check_ = now;
    const auto count = static_cast<std::uint32_t>(processes_.size());
    for (std::uint32_t checked = 0; checked < std::min(checked_at_once_max, count); ++checked) {
      next_ = next_ + 1 < count ? next_ + 1 : 0;
      require_alive(next_);
    }
  }

  /// Checks one peer, for which this rank waits, once each interval. Throws as above.
  void watch(std::uint32_t rank) {
    const nanoseconds now = settings_.clock->now();
    if (now - last_check_of_one_ >= settings_.interval) {
      last_check_of_one_ = now;
      require_alive(rank);
    }
  }

  [[nodiscard]] bool has_gone(std::uint32_t rank) const {
    return !is_in_this_process(rank) && is_gone(processes_[rank]);
  }

 private:
  static constexpr std::uint32_t checked_at_once_max = 4;

  void require_alive(std::uint32_t rank) const {
    // In this order: a process that ends regularly gives notice first.
    if (has_gone(rank) && !has_left(rank)) {
      fail(rank, "the process has ended without notice; its own output may show why");
    }
  }

  Segment segment_;
  std::uint32_t self_;
  std::vector<ProcessId> processes_;
  Settings settings_;
  nanoseconds last_check_;
  nanoseconds last_check_of_one_;
  std::uint32_t next_ = 0;
};

}  // namespace plait::net::detail::shm
