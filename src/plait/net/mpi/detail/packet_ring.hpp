// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <mpi.h>

#include "plait/net/detail/packet_pool.hpp"
#include "plait/net/driver.hpp"
#include "plait/net/mpi/detail/call.hpp"
#include "plait/net/mpi/detail/give_up.hpp"

namespace plait::net::detail {

/// Receives for packets from any rank, posted in advance and tested from the oldest.
///
/// MPI matches receives of one communicator and tag in the order of posting, so the packets of a peer are taken in the
/// order of sending, also when a large one completes after a small one that follows it.
class PacketRing {
 public:
  /// Borrows both. Expects: `count` is at least 1.
  PacketRing(MPI_Comm communicator, PacketPool& pool, std::uint32_t count)
      : communicator_{communicator}, pool_{pool}, places_(count), missing_{count}, missing_max_{count / missing_part} {
    post_missing();
  }

  /// Takes the oldest packet. False when none has arrived; only then, or when many are missing, receives are posted.
  [[nodiscard]] bool take(Arrival& arrival) {
    Place& place = places_[head_];
    int has_come = 0;
    MPI_Status status;
    check_mpi(MPI_Test(&place.request, &has_come, &status), "MPI_Test (packet)");
    if (has_come == 0) {
      if (missing_ > 0) {
        post_missing();
      }
      return false;
    }
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    arrival.peer = Rank{static_cast<std::uint32_t>(status.MPI_SOURCE)};
    arrival.packet = std::move(place.packet);
    arrival.packet.resize(static_cast<std::size_t>(bytes));
    head_ = after(head_);
    ++missing_;
    if (missing_ > missing_max_) {
      post_missing();
    }
    return true;
  }

  /// Withdraws all receives. Packets in flight are lost.
  void close(GiveUpTime deadline) noexcept {
    for (Place& place : places_) {
      if (place.request != MPI_REQUEST_NULL) {
        MPI_Cancel(&place.request);
      }
    }
    for (Place& place : places_) {
      if (place.request != MPI_REQUEST_NULL && !ends_before(place.request, deadline)) {
        leave_behind(std::move(place.packet));
      }
    }
  }

 private:
  /// This part of the receives may be missing while packets arrive.
  static constexpr std::size_t missing_part = 4;

  struct Place {
    MPI_Request request = MPI_REQUEST_NULL;
    Packet packet;
  };

  /// Posts the missing receives, oldest place first, so that matching order stays ring order.
  void post_missing() {
    for (; missing_ > 0; --missing_) {
      const std::size_t index = head_ >= missing_ ? head_ - missing_ : head_ + places_.size() - missing_;
      Place& place = places_[index];
      place.packet = pool_.acquire();
      // NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker): tested in take(), withdrawn in close()
      check_mpi(MPI_Irecv(place.packet.data(),
                          static_cast<int>(place.packet.capacity()),
                          MPI_BYTE,
                          MPI_ANY_SOURCE,
                          packet_tag,
                          communicator_,
                          &place.request),
                "MPI_Irecv (packet)");
    }
  }

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
