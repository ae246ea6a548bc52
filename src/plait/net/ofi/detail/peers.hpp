// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <rdma/fabric.h>
#include <utility>
#include <vector>

#include "plait/base/id.hpp"
#include "plait/net/ofi/detail/call.hpp"

namespace plait::net::detail::ofi {

/// The ranks of a driver: how libfabric names them, and which have ended.
class Peers {
 public:
  enum class State : std::uint8_t {
    here,
    left,  ///< Has ended its driver with notice: what is sent to it vanishes, and its silence is no error.
    lost,  ///< Ended without notice.
  };

  explicit Peers(std::vector<fi_addr_t> names)
      : names_{std::move(names)}, states_(names_.size(), State::here), is_known_(names_.size()) {}

  [[nodiscard]] std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(names_.size()); }
  [[nodiscard]] fi_addr_t name(Rank peer) const { return names_[peer.value()]; }
  [[nodiscard]] State state(Rank peer) const { return states_[peer.value()]; }
  /// False for one that has ended its driver. Throws: `Error` with `network` for one that is lost.
  [[nodiscard]] bool can_reach(Rank peer) const {
    if (state(peer) == State::lost) [[unlikely]] {
      peer_is_lost(peer, "as reported before");
    }
    return state(peer) == State::here;
  }
  void set_state(Rank peer, State state) { states_[peer.value()] = state; }
  /// Whether anything has gone to this peer, or come from it: those are watched, and notified when this rank ends.
  [[nodiscard]] bool is_known(Rank peer) const { return is_known_[peer.value()] != 0; }
  void set_known(Rank peer) { is_known_[peer.value()] = 1; }

 private:
  std::vector<fi_addr_t> names_;
  std::vector<State> states_;
  std::vector<std::uint8_t> is_known_;
};

}  // namespace plait::net::detail::ofi
