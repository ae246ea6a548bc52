// SPDX-License-Identifier: Apache-2.0
#include "plait/net/ofi/detail/peer_watch.hpp"

#include <algorithm>
#include <utility>

#include "plait/net/ofi/detail/call.hpp"

namespace plait::net::detail::ofi {
namespace {

/// Empty polls between two readings of the clock.
constexpr std::uint32_t polls_between = 256;
constexpr std::chrono::milliseconds interval{100};
/// Ranks looked at each time.
constexpr std::uint32_t ranks_per_look = 8;

}  // namespace

PeerWatch::PeerWatch(Peers& peers, std::vector<shm::ProcessId> processes, const Clock& clock)
    : peers_{peers},
      processes_{std::move(processes)},
      was_gone_(processes_.size()),
      clock_{clock},
      last_look_{clock.now()} {}

PeerWatch::Turn PeerWatch::look() {
  if (++idle_polls_ % polls_between != 0) {
    return {};
  }
  const nanoseconds now = clock_.now();
  if (now - last_look_ < interval) {
    return {};
  }
  last_look_ = now;
  Turn turn{.has_come = true};
  for (std::uint32_t count = std::min(ranks_per_look, peers_.count()); count > 0 && !turn.to_greet; --count) {
    const Rank peer{next_};
    next_ = next_ + 1 == peers_.count() ? 0 : next_ + 1;
    if (peers_.is_known(peer) && peers_.state(peer) == Peers::State::here) {
      turn.to_greet = look_at(peer);
    }
  }
  return turn;
}

Rank PeerWatch::look_at(Rank peer) {
  const std::uint32_t rank = peer.value();
  if (processes_[rank].number == 0) {
    return peer;
  }
  if (!shm::is_gone(processes_[rank])) {
    return {};
  }
  if (!was_gone_[rank]) {
    was_gone_[rank] = true;
    return {};
  }
  peers_.set_state(peer, Peers::State::lost);
  peer_is_lost(peer, "its process has ended, and has not said goodbye");
}

}  // namespace plait::net::detail::ofi
