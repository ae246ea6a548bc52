// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
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
  /// Borrows the first two.
  PacketSends(MPI_Comm communicator, PacketPool& pool, std::size_t message_bytes_max, std::uint32_t count_max)
      : communicator_{communicator},
        pool_{pool},
        pieces_{message_bytes_max, piece_spare_max},
        count_max_{count_max},
        over_(count_max) {
    requests_.reserve(count_max_);
    packets_.reserve(count_max_);
    peers_.reserve(count_max_);
  }

  /// As `Driver::send`. Stores only packets that MPI does not send at once.
  [[nodiscard]] Post send(Rank to, Packet&& packet) {
    if (packet.size() > pieces_.packet_bytes()) {
      const Post post = send_copy(to, packet.bytes(), {});
      if (post != Post::retry) {
        recycle(std::move(packet));
      }
      return post;
    }
    return requests_.size() == count_max_ ? Post::retry : start(to, std::move(packet), packet_tag);
  }

  /// As `Driver::send_copy`, in as few messages as possible.
  [[nodiscard]] Post send_copy(Rank to, std::span<const std::byte> head, std::span<const std::byte> data) {
    const std::size_t bytes = head.size() + data.size();
    PacketPool& pool = bytes <= std::min(pool_.packet_bytes(), pieces_.packet_bytes()) ? pool_ : pieces_;
    const std::size_t count = (bytes + pool.packet_bytes() - 1) / pool.packet_bytes();
    if (requests_.size() + count > count_max_) {
      return Post::retry;
    }
    auto all = Post::done;
    for (std::size_t left = count; left > 0; --left) {
      Packet piece = pool.acquire();
      piece.resize(std::min(head.size() + data.size(), pool.packet_bytes()));
      fill({piece.data(), piece.size()}, head, data);
      if (start(to, std::move(piece), left == 1 ? packet_tag : piece_tag) == Post::posted) {
        all = Post::posted;
      }
    }
    return all;
  }

  /// Recycles packets that are sent.
  void reap() {
    for (const int index : test_some(requests_, over_, "MPI_Testsome (packets sent)")) {
      const auto gap = static_cast<std::size_t>(index);
      recycle(std::move(packets_[gap]));
      requests_[gap] = requests_.back();
      packets_[gap] = std::move(packets_.back());
      peers_[gap] = peers_.back();
      requests_.pop_back();
      packets_.pop_back();
      peers_.pop_back();
    }
  }

  [[nodiscard]] bool is_empty() const noexcept { return requests_.empty(); }
  [[nodiscard]] bool is_full() const noexcept { return requests_.size() == count_max_; }
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
  static constexpr std::size_t piece_spare_max = 32;

  /// Fills `to` from the rest of `head`, then of `data`, and shortens both.
  static void fill(std::span<std::byte> to, std::span<const std::byte>& head, std::span<const std::byte>& data) {
    for (std::span<const std::byte>* const from : {&head, &data}) {
      const std::size_t bytes = std::min(to.size(), from->size());
      std::ranges::copy(from->first(bytes), to.begin());
      to = to.subspan(bytes);
      *from = from->subspan(bytes);
    }
  }

  // NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker): what is not sent here ends in reap() or close()
  Post start(Rank to, Packet&& packet, int tag) {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Isend(packet.data(),
                        static_cast<int>(packet.size()),
                        MPI_BYTE,
                        static_cast<int>(to.value()),
                        tag,
                        communicator_,
                        &request),
              "MPI_Isend (packet)",
              to);
    int has_left = 0;
    const int code = MPI_Test(&request, &has_left, MPI_STATUS_IGNORE);
    if (has_left != 0 && code == MPI_SUCCESS) {
      recycle(std::move(packet));
      return Post::done;
    }
    requests_.push_back(request);
    packets_.push_back(std::move(packet));
    peers_.push_back(to);
    check_mpi(code, "MPI_Test (packet sent)", to);
    return Post::posted;
  }
  // NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker)

  void recycle(Packet&& packet) noexcept {
    (packet.capacity() == pool_.packet_bytes() ? pool_ : pieces_).recycle(std::move(packet));
  }

  MPI_Comm communicator_;
  PacketPool& pool_;
  PacketPool pieces_;  ///< Of long packets.
  std::size_t count_max_;
  // Of equal length: each request, its packet and where it goes.
  std::vector<MPI_Request> requests_;
  std::vector<Packet> packets_;
  std::vector<Rank> peers_;
  std::vector<int> over_;
};

}  // namespace plait::net::detail
