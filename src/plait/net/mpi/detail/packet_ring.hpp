// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <mpi.h>

#include "plait/net/detail/packet_pool.hpp"
#include "plait/net/driver.hpp"
#include "plait/net/mpi/detail/give_up.hpp"

namespace plait::net::detail {

/// Receives for packets from any rank, posted in advance and tested one by one from the oldest.
///
/// All have one communicator and one tag, so MPI matches them in the order of posting, and the packets
/// of a peer are taken in the order in which they were sent, even when a long one at the head
/// takes longer than a short one behind it.
class PacketRing {
 public:
  /// Borrows both. Expects: `count` is at least 1.
  PacketRing(MPI_Comm communicator, PacketPool& pool, std::uint32_t count);

  /// Takes the oldest packet that has come. False when none has; then all receives are posted.
  /// The place of a packet that was taken is posted again later, when the caller has less to do.
  [[nodiscard]] bool take(Arrival& arrival);

  /// Withdraws all receives. Packets in flight are lost.
  void close(GiveUpTime deadline) noexcept;

 private:
  struct Place {
    MPI_Request request = MPI_REQUEST_NULL;
    Packet packet;
  };

  void post_missing();
  [[nodiscard]] std::size_t after(std::size_t place) const noexcept {
    return place + 1 == places_.size() ? 0 : place + 1;
  }

  MPI_Comm communicator_;
  PacketPool& pool_;
  std::vector<Place> places_;
  std::size_t head_ = 0;     ///< The oldest posted receive.
  std::size_t missing_ = 0;  ///< Places before the head that are not posted.
  std::size_t missing_max_;
};

}  // namespace plait::net::detail
