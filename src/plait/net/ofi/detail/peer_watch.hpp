// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/base/id.hpp"
#include "plait/net/ofi/detail/call.hpp"
#include "plait/net/ofi/detail/peers.hpp"
#include "plait/net/shm/detail/process.hpp"

namespace plait::net::detail::ofi {

/// Checks periodically whether the ranks that this one has communicated with are alive.
///
/// libfabric does not report it, as its endpoints have no connections. A process on this host is looked up in /proc.
/// One elsewhere gets a greeting about once a second: this fails or, where the provider reconnects for ever (ofi_rxm),
/// is refused repeatedly although nothing else is in flight there.
class PeerWatch {
 public:
  /// Borrows `peers` and `clock`. `processes` are those of the ranks, with number 0 for one that cannot be looked up.
  PeerWatch(Peers& peers, std::vector<shm::ProcessId> processes, const Clock& clock)
      : peers_{peers},
        processes_{std::move(processes)},
        turns_(processes_.size()),
        refusals_(processes_.size()),
        was_gone_(processes_.size()),
        clock_{clock},
        last_check_{clock.now()} {}

  struct Turn {
    bool has_come = false;
    Rank to_greet;  ///< To be sent a message, mostly none.
  };

  /// Called after each empty poll; checks a few ranks about ten times a second, for about 10 us each. Throws: `Error`
  /// with `network` when a rank has ended without notice.
  [[nodiscard]] Turn check() {
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

  /// Notes whether the greeting was refused although nothing else is in flight to `peer`. Throws as `check` when it has
  /// been refused for ten seconds.
  void note_greeting(Rank peer, bool is_refused) {
    std::uint32_t& refusals = refusals_[peer.value()];
    refusals = is_refused ? refusals + 1 : 0;
    if (refusals >= refusals_max) {
      peers_.set_state(peer, Peers::State::lost);
      peer_is_lost(peer, "it cannot be reached any more, and has given no notice");
    }
  }

 private:
  static constexpr std::uint32_t polls_between = 256;  ///< Empty polls between two readings of the clock.
  static constexpr std::chrono::milliseconds interval{100};
  static constexpr std::uint32_t ranks_per_check = 8;
  /// Checks of a rank elsewhere for each greeting: a rank that does not poll for long is not flooded.
  static constexpr std::uint32_t checks_per_greeting = 10;
  /// This many refused greetings, one a check, mean that the rank has ended.
  static constexpr std::uint32_t refusals_max = 100;

  [[nodiscard]] Rank check(Rank peer) {
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

  Peers& peers_;
  std::vector<shm::ProcessId> processes_;
  std::vector<std::uint32_t> turns_;     ///< Of each rank elsewhere, until it is greeted.
  std::vector<std::uint32_t> refusals_;  ///< In a row, by rank.
  std::vector<bool> was_gone_;           ///< By rank, at the last check: its goodbye may still arrive.
  const Clock& clock_;
  nanoseconds last_check_;
  std::uint32_t idle_polls_ = 0;
  std::uint32_t next_ = 0;  ///< The rank whose turn it is.
};

}  // namespace plait::net::detail::ofi
