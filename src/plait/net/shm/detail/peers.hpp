// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "plait/base/clock.hpp"
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

  Peers(const Segment& segment, std::uint32_t self, std::vector<ProcessId> processes, Settings settings);

  [[nodiscard]] const ProcessId& process(std::uint32_t rank) const { return processes_[rank]; }
  [[nodiscard]] bool is_in_this_process(std::uint32_t rank) const { return processes_[rank] == processes_[self_]; }
  /// Whether its driver has ended in good order.
  [[nodiscard]] bool has_left(std::uint32_t rank) const {
    return segment_.has_left(rank).load(std::memory_order_acquire) != 0;  // with release in leave()
  }
  /// Notifies the others that this rank's driver has ended.
  void leave() noexcept { segment_.has_left(self_).store(1, std::memory_order_release); }  // with acquire above

  /// Throws `Error` with `network` and the rank.
  [[noreturn]] void fail(std::uint32_t rank, const char* what) const;

  /// Checks a few processes in turn, if the last check was long ago. Throws when one has ended. Cost: a reading of the
  /// clock, rarely some 40 us.
  void watch();
  /// Checks one peer, for which this rank waits, if the last such check was long ago. Throws as `watch`.
  void watch(std::uint32_t rank);
  [[nodiscard]] bool has_gone(std::uint32_t rank) const;

 private:
  void require_alive(std::uint32_t rank) const;

  Segment segment_;
  std::uint32_t self_;
  std::vector<ProcessId> processes_;
  Settings settings_;
  nanoseconds last_check_;
  nanoseconds last_check_of_one_;
  std::uint32_t next_ = 0;
};

}  // namespace plait::net::detail::shm
