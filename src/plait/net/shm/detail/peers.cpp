// SPDX-License-Identifier: Apache-2.0
#include "plait/net/shm/detail/peers.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait::net::detail::shm {
namespace {

constexpr std::uint32_t checked_at_once_max = 4;

}  // namespace

Peers::Peers(const Segment& segment, std::uint32_t self, std::vector<ProcessId> processes, Settings settings)
    : segment_{segment},
      self_{self},
      processes_{std::move(processes)},
      settings_{std::move(settings)},
      last_check_{settings_.clock->now()},
      last_check_of_one_{last_check_} {}

void Peers::fail(std::uint32_t rank, const char* what) const {
  const std::uint32_t called = settings_.called.empty() ? rank : settings_.called[rank].value();
  throw Error{ErrorCode::network,
              fmt::format("shared memory with rank {} (process {}): {}", called, processes_[rank].number, what),
              Rank{rank}};
}

bool Peers::has_gone(std::uint32_t rank) const {
  return !is_in_this_process(rank) && is_gone(processes_[rank]);
}

void Peers::require_alive(std::uint32_t rank) const {
  // In this order: a process that ends regularly gives notice first.
  if (has_gone(rank) && !has_left(rank)) {
    fail(rank, "the process has ended without notice; its own output may show why");
  }
}

void Peers::watch() {
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

void Peers::watch(std::uint32_t rank) {
  const nanoseconds now = settings_.clock->now();
  if (now - last_check_of_one_ >= settings_.interval) {
    last_check_of_one_ = now;
    require_alive(rank);
  }
}

}  // namespace plait::net::detail::shm
