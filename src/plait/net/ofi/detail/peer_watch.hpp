// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/base/id.hpp"
#include "plait/net/ofi/detail/peers.hpp"
#include "plait/net/shm/detail/process.hpp"

namespace plait::net::detail::ofi {

/// Checks periodically whether the ranks that this one has exchanged anything with still live.
///
/// libfabric does not report it: endpoints that reach all ranks have no connections to lose, and what was sent to a
/// dead process on the same host just stays in its memory. A process on this host is looked up. One elsewhere is
/// greeted about once a second: the greeting fails, or, where the provider tries to connect anew for ever (ofi_rxm), is
/// refused again and again although nothing else is on the way there.
class PeerWatch {
 public:
  /// Borrows `peers` and `clock`. `processes` are those of the ranks, with number 0 for one that cannot be looked up.
  PeerWatch(Peers& peers, std::vector<shm::ProcessId> processes, const Clock& clock);

  struct Turn {
    bool has_come = false;
    Rank to_greet;  ///< To be sent a message, mostly none.
  };
  /// To be called when a poll has returned nothing; checks about ten times a second. Throws: `Error` with `network`
  /// when a rank has ended without notice. Cost: a count; rarely a reading of the clock, and at each check some 10 us
  /// for each of a few ranks.
  [[nodiscard]] Turn check();
  /// What became of the greeting: `is_refused` when it would have to wait although nothing else is on the way to
  /// `peer`. Throws as `check` when that has been so for ten seconds.
  void note_greeting(Rank peer, bool is_refused);

 private:
  [[nodiscard]] Rank check(Rank peer);

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
