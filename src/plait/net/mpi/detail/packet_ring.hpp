// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <mpi.h>

#include "plait/base/bytes.hpp"
#include "plait/net/driver.hpp"
#include "plait/net/mpi/detail/call.hpp"
#include "plait/net/mpi/detail/give_up.hpp"

namespace plait::net::detail {

/// Receives for packets from any rank, posted in advance and tested from the oldest.
///
/// MPI matches receives of one communicator in the order of posting, so the packets of a peer are taken in the order of
/// sending, also when a large one completes after a small one that follows it. Packets are read where they arrived; the
/// pieces of a long one are put together.
class PacketRing {
 public:
  /// Borrows `communicator`. Expects: `count` is at least 1.
  PacketRing(MPI_Comm communicator, std::size_t message_bytes_max, std::uint32_t count)
      : communicator_{communicator}, places_(count), missing_{count}, missing_max_{count / missing_part} {
    for (Place& place : places_) {
      place.packet = Packet{message_bytes_max};
    }
    post_missing();
  }

  /// What was taken before is not read any more: its memory may be posted again.
  void give_back() {
    read_ = 0;
    for (; !whole_.empty(); whole_.pop_back()) {
      if (spare_.size() < spare_max) {
        spare_.push_back(std::move(whole_.back()));
        spare_.back().clear();
      }
    }
    if (missing_ > missing_max_) {
      post_missing();
    }
  }

  /// Takes the oldest packet. False when none has arrived; only then, or when many are missing, receives are posted.
  [[nodiscard]] bool take(Arrival& arrival) {
    while (missing_ < places_.size()) {
      Place& place = places_[head_];
      int has_come = 0;
      MPI_Status status;
      check_mpi(MPI_Test(&place.request, &has_come, &status), "MPI_Test (packet)");
      if (has_come == 0) {
        if (missing_ > read_) {
          post_missing();
        }
        return false;
      }
      int bytes = 0;
      MPI_Get_count(&status, MPI_BYTE, &bytes);
      place.packet.resize(static_cast<std::size_t>(bytes));
      head_ = after(head_);
      ++missing_;
      ++read_;
      if (missing_ > read_ + missing_max_) {
        post_missing();
      }
      arrival.peer = Rank{static_cast<std::uint32_t>(status.MPI_SOURCE)};
      arrival.in_place = place.packet.bytes();
      const bool is_last = status.MPI_TAG == packet_tag;
      if ((is_last && begun_.empty()) || put_together(arrival, is_last)) {
        return true;
      }
    }
    return false;
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
  static constexpr std::size_t spare_max = 16;

  struct Place {
    MPI_Request request = MPI_REQUEST_NULL;
    Packet packet;
  };

  /// A packet of which some pieces have come.
  struct Begun {
    Rank peer;
    Bytes bytes;
  };

  /// Adds a piece to what has come of its packet; when it is the last, the packet has arrived. Returns `is_last`.
  bool put_together(Arrival& arrival, bool is_last) {
    auto begun = std::ranges::find(begun_, arrival.peer, &Begun::peer);
    if (begun == begun_.end()) {
      if (is_last) {
        return true;  // the only one
      }
      begun = begun_.insert(begun_.end(), {arrival.peer, {}});
      if (!spare_.empty()) {
        begun->bytes = std::move(spare_.back());
        spare_.pop_back();
      }
    }
    begun->bytes.insert(begun->bytes.end(), arrival.in_place.begin(), arrival.in_place.end());
    if (is_last) {
      whole_.push_back(std::move(begun->bytes));
      begun_.erase(begun);
      arrival.in_place = whole_.back();
    }
    return is_last;
  }

  /// Posts the missing receives that are not being read, oldest place first, so that matching order stays ring order.
  void post_missing() {
    for (; missing_ > read_; --missing_) {
      const std::size_t index = head_ >= missing_ ? head_ - missing_ : head_ + places_.size() - missing_;
      Place& place = places_[index];
      // NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker): tested in take(), withdrawn in close()
      check_mpi(MPI_Irecv(place.packet.data(),
                          static_cast<int>(place.packet.capacity()),
                          MPI_BYTE,
                          MPI_ANY_SOURCE,
                          MPI_ANY_TAG,
                          communicator_,
                          &place.request),
                "MPI_Irecv (packet)");
    }
  }

  [[nodiscard]] std::size_t after(std::size_t place) const noexcept {
    return place + 1 == places_.size() ? 0 : place + 1;
  }

  MPI_Comm communicator_;
  std::vector<Place> places_;
  std::size_t head_ = 0;     ///< The oldest posted receive.
  std::size_t missing_ = 0;  ///< Places before the head that are not posted,
  std::size_t read_ = 0;     ///< and those of them that the caller may still read.
  std::size_t missing_max_;
  std::vector<Begun> begun_;
  std::vector<Bytes> whole_;  ///< Long packets that the caller may still read.
  std::vector<Bytes> spare_;
};

}  // namespace plait::net::detail
