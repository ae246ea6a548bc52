// SPDX-License-Identifier: Apache-2.0
#include "plait/net/shm/detail/peers.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait::net::detail::shm {
namespace {

constexpr std::uint32_t looked_at_once_max = 4;

}  // namespace

Peers::Peers(const Segment& segment, std::uint32_t self, std::vector<ProcessId> processes, Settings settings)
    : segment_{segment},
      self_{self},
      processes_{std::move(processes)},
      settings_{std::move(settings)},
      last_look_{settings_.clock->now()},
      last_look_at_one_{last_look_} {}

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
  // In this order: a process that ends in good order says so first.
  if (has_gone(rank) && !has_left(rank)) {
    fail(rank, "the process has ended without a word; its own output may tell why");
  }
}

void Peers::watch() {
  const nanoseconds now = settings_.clock->now();
  if (now - last_look_ < settings_.interval) {
    return;
  }
  last_look_ = now;
  const auto count = static_cast<std::uint32_t>(processes_.size());
  for (std::uint32_t looked = 0; looked < std::min(looked_at_once_max, count); ++looked) {
    next_ = next_ + 1 < count ? next_ + 1 : 0;
    require_alive(next_);
  }
}

void Peers::watch(std::uint32_t rank) {
  const nanoseconds now = settings_.clock->now();
  if (now - last_look_at_one_ >= settings_.interval) {
    last_look_at_one_ = now;
    require_alive(rank);
  }
}

}  // namespace plait::net::detail::shm
