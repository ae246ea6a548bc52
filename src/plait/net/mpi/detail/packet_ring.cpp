// SPDX-License-Identifier: Apache-2.0
#include "plait/net/mpi/detail/packet_ring.hpp"

#include <utility>

#include "plait/net/mpi/detail/call.hpp"

namespace plait::net::detail {
namespace {

constexpr int packet_tag = 0;
/// This part of the receives may be missing while packets keep coming.
constexpr std::size_t missing_part = 4;

}  // namespace

PacketRing::PacketRing(MPI_Comm communicator, PacketPool& pool, std::uint32_t count)
    : communicator_{communicator}, pool_{pool}, places_(count), missing_{count}, missing_max_{count / missing_part} {
  post_missing();
}

bool PacketRing::take(Arrival& arrival) {
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

/// Posts the missing receives, oldest place first, so that matching order stays ring order.
void PacketRing::post_missing() {
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

void PacketRing::close(GiveUpTime deadline) noexcept {
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

}  // namespace plait::net::detail
