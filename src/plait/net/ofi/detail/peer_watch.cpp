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
/// Ranks checked each time.
constexpr std::uint32_t ranks_per_check = 8;
/// Checks of a rank elsewhere for each greeting: a rank that does not poll for long is not flooded.
constexpr std::uint32_t checks_per_greeting = 10;
/// This many refused greetings, one a check, mean that the rank is gone.
constexpr std::uint32_t refusals_max = 100;

}  // namespace

PeerWatch::PeerWatch(Peers& peers, std::vector<shm::ProcessId> processes, const Clock& clock)
    : peers_{peers},
      processes_{std::move(processes)},
      turns_(processes_.size()),
      refusals_(processes_.size()),
      was_gone_(processes_.size()),
      clock_{clock},
      last_check_{clock.now()} {}

PeerWatch::Turn PeerWatch::check() {
  if (++idle_polls_ % polls_between != 0) {
    return {};
  }
  const nanoseconds now = clock_.now();
  if (now - last_check_ < interval) {
    return {};
  }
  last_check_ = now;
  Turn turn{.has_come = true};
  for (std::uint32_t count = std::min(ranks_per_check, peers_.count()); count > 0 && !turn.to_greet; --count) {
    const Rank peer{next_};
    next_ = next_ + 1 == peers_.count() ? 0 : next_ + 1;
    if (peers_.is_known(peer) && peers_.state(peer) == Peers::State::here) {
      turn.to_greet = check(peer);
    }
  }
  return turn;
}

Rank PeerWatch::check(Rank peer) {
  const std::uint32_t rank = peer.value();
  if (processes_[rank].number == 0) {
    const bool is_time = refusals_[rank] > 0 || ++turns_[rank] % checks_per_greeting == 0;
    return is_time ? peer : Rank{};
  }
  if (!shm::is_gone(processes_[rank])) {
    return {};
  }
  if (!was_gone_[rank]) {
    was_gone_[rank] = true;
    return {};
  }
  peers_.set_state(peer, Peers::State::lost);
  peer_is_lost(peer, "its process has ended without notice");
}

void PeerWatch::note_greeting(Rank peer, bool is_refused) {
  std::uint32_t& refusals = refusals_[peer.value()];
  refusals = is_refused ? refusals + 1 : 0;
  if (refusals >= refusals_max) {
    peers_.set_state(peer, Peers::State::lost);
    peer_is_lost(peer, "it cannot be reached any more, and has given no notice");
  }
}

}  // namespace plait::net::detail::ofi
