// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plait/net/driver.hpp"
#include "plait/net/shm/detail/layout.hpp"
#include "plait/net/shm/detail/peers.hpp"
#include "plait/net/shm/shm_driver.hpp"

namespace plait::net::detail::shm {

/// One rank's bulk transfers, in both directions. See `BulkPlace` for how both sides work together.
class BulkMover {
 public:
  struct Settings {
    SingleCopy single_copy = SingleCopy::automatic;
    std::size_t piece_bytes_max = 0;
  };

  /// Borrows `peers`.
  BulkMover(const Segment& segment, std::uint32_t self, Peers& peers, const Settings& settings);

  [[nodiscard]] Post send(const BulkSend& bulk);
  [[nodiscard]] Post receive(const BulkReceive& bulk);
  /// Copies at most about `piece_bytes_max`, and appends what has ended to `done`. Throws as the driver.
  void progress(std::vector<BulkDone>& done);
  [[nodiscard]] bool is_active() const noexcept { return !transfers_.empty(); }
  [[nodiscard]] bool is_sending() const noexcept { return send_count_ > 0; }

  /// Withdraws everything, and waits for peers that are copying from or into our memory, a second at most.
  void close() noexcept;

 private:
  struct Transfer {
    BulkPlace* place = nullptr;
    std::byte* buffer = nullptr;  ///< In the segment; used without single copy.
    TransferDirection direction = TransferDirection::sent;
    std::uint32_t peer = 0;
    std::uint32_t number = 0;  ///< Of those in this place.
    std::byte* ours = nullptr;
    std::uint64_t theirs = 0;  ///< Address at the peer.
    std::size_t bytes = 0;
    std::uint64_t cookie = 0;
    std::size_t moved = 0;  ///< Without single copy: by this side.
  };

  /// What a transfer has copied now, and whether it has ended.
  struct Step {
    std::size_t bytes = 0;
    bool is_over = false;
  };

  [[nodiscard]] std::size_t piece_bytes(std::size_t bytes) const;
  [[nodiscard]] Step step(Transfer& transfer);
  [[nodiscard]] Step copy_piece(Transfer& transfer);
  [[nodiscard]] Step put_in(Transfer& transfer);
  [[nodiscard]] Step take_out(Transfer& transfer);
  void copy(const Transfer& transfer, std::size_t begin, std::size_t bytes);
  void wait_for(const Transfer& transfer);
  void require_not_given_up(const Transfer& transfer, std::uint64_t claim) const;
  void withdraw(const Transfer& transfer) noexcept;

  Segment segment_;
  std::uint32_t self_;
  Peers& peers_;
  Settings settings_;
  std::vector<Transfer> transfers_;
  std::size_t send_count_ = 0;
  std::size_t next_ = 0;  ///< Whose turn it is to copy.
  std::uint32_t idle_count_ = 0;
};

}  // namespace plait::net::detail::shm
