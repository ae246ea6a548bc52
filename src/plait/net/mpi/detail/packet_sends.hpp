// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <mpi.h>

#include "plait/net/detail/packet_pool.hpp"
#include "plait/net/driver.hpp"
#include "plait/net/mpi/detail/call.hpp"
#include "plait/net/mpi/detail/give_up.hpp"

namespace plait::net::detail {

/// Packets that MPI has not finished sending: a bounded number.
class PacketSends {
 public:
  /// Borrows both.
  PacketSends(MPI_Comm communicator, PacketPool& pool, std::uint32_t count_max)
      : communicator_{communicator}, pool_{pool}, count_max_{count_max}, over_(count_max) {
    requests_.reserve(count_max_);
    packets_.reserve(count_max_);
    peers_.reserve(count_max_);
  }

  /// As `Driver::send`. Stores only packets that MPI does not send at once.
  // NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker): what is not sent here ends in reap() or close()
  [[nodiscard]] Post send(Rank to, Packet&& packet) {
    if (requests_.size() == count_max_) {
      return Post::retry;
    }
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Isend(packet.data(),
                        static_cast<int>(packet.size()),
                        MPI_BYTE,
                        static_cast<int>(to.value()),
                        packet_tag,
                        communicator_,
                        &request),
              "MPI_Isend (packet)",
              to);
    int has_left = 0;
    const int code = MPI_Test(&request, &has_left, MPI_STATUS_IGNORE);
    if (has_left != 0 && code == MPI_SUCCESS) {
      pool_.recycle(std::move(packet));
      return Post::done;
    }
    requests_.push_back(request);
    packets_.push_back(std::move(packet));
    peers_.push_back(to);
    check_mpi(code, "MPI_Test (packet sent)", to);
    return Post::posted;
  }
  // NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker)

  /// Recycles packets that are sent.
  void reap() {
    for (const int index : test_some(requests_, over_, "MPI_Testsome (packets sent)")) {
      const auto gap = static_cast<std::size_t>(index);
      pool_.recycle(std::move(packets_[gap]));
      requests_[gap] = requests_.back();
      packets_[gap] = std::move(packets_.back());
      peers_[gap] = peers_.back();
      requests_.pop_back();
      packets_.pop_back();
      peers_.pop_back();
    }
  }

  [[nodiscard]] bool is_empty() const noexcept { return requests_.empty(); }
  [[nodiscard]] bool is_busy(Rank to) const noexcept {
    return !peers_.empty() && std::ranges::find(peers_, to) != peers_.end();
  }

  void close(GiveUpTime deadline) noexcept {
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      if (requests_[i] != MPI_REQUEST_NULL && !ends_before(requests_[i], deadline)) {
        leave_behind(std::move(packets_[i]));
      }
    }
  }

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
