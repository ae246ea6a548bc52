// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <mpi.h>

#include "plait/net/detail/packet_pool.hpp"
#include "plait/net/driver.hpp"
#include "plait/net/mpi/detail/give_up.hpp"

namespace plait::net::detail {

/// Packets that MPI has not finished sending: a bounded number.
class PacketSends {
 public:
  /// Borrows both.
  PacketSends(MPI_Comm communicator, PacketPool& pool, std::uint32_t count_max);

  /// As `Driver::send`. A packet that leaves at once, as small ones do, is never stored here.
  [[nodiscard]] Post send(Rank to, Packet&& packet);
  /// Recycles packets that are sent.
  void reap();
  [[nodiscard]] bool is_empty() const noexcept { return requests_.empty(); }
  [[nodiscard]] bool is_busy(Rank to) const noexcept {
    return !peers_.empty() && std::ranges::find(peers_, to) != peers_.end();
  }

  void close(GiveUpTime deadline) noexcept;

 private:
  MPI_Comm communicator_;
  PacketPool& pool_;
  std::size_t count_max_;
  // Of equal length: each request, its packet and where it goes.
  std::vector<MPI_Request> requests_;
  std::vector<Packet> packets_;
  std::vector<Rank> peers_;
  std::vector<int> over_;
};

}  // namespace plait::net::detail
