// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "plait/plait.hpp"

#include "support/raw_mpi.hpp"

namespace bench {

/// plait, with the calls of `RawMpi`.
class Plait {
 public:
  using Request = plait::Request;

  /// `block_bytes`: messages are every second block of a buffer, of so many bytes each. 0: they are the whole buffer.
  explicit Plait(plait::Runtime& runtime, std::size_t block_bytes = 0)
      : messages_{&runtime.messages()}, block_bytes_{block_bytes} {}

  [[nodiscard]] int rank() const { return static_cast<int>(messages_->self().value()); }
  [[nodiscard]] int rank_count() const { return static_cast<int>(messages_->rank_count()); }
  void barrier() const { plait::barrier(*messages_); }
  [[nodiscard]] Request send(int to, int tag, std::span<const std::byte> data) const {
    return block_bytes_ == 0 ? messages_->send(address(to, tag), data)
                             : messages_->send(address(to, tag), blocks(data));
  }
  [[nodiscard]] Request receive(int from, int tag, std::span<std::byte> buffer) const {
    return block_bytes_ == 0 ? messages_->receive(address(from, tag), buffer)
                             : messages_->receive(address(from, tag), blocks(buffer));
  }
  static void wait(Request& request) { request.wait(); }
  static void wait_all(std::span<Request> requests) {
    for (Request& request : requests) {
      request.wait();
    }
  }
  void blocking_send(int to, int tag, std::span<const std::byte> data) const { send(to, tag, data).wait(); }
  void blocking_receive(int from, int tag, std::span<std::byte> buffer) const { receive(from, tag, buffer).wait(); }

 private:
  static plait::Address address(int rank, int tag) {
    return {rank == any ? plait::any_source : plait::Rank{static_cast<std::uint32_t>(rank)},
            tag == any ? plait::any_tag : plait::Tag{static_cast<std::uint64_t>(tag)}};
  }
  template <class Byte>
  [[nodiscard]] plait::comm::Layout blocks(std::span<Byte> buffer) const {
    const std::size_t stride = 2 * block_bytes_;
    return plait::comm::Layout::strided(buffer.data(), block_bytes_, stride, buffer.size() / stride);
  }

  plait::comm::Endpoint* messages_;
  std::size_t block_bytes_;
};

/// Returns the value of rank 0 on every rank. Collective.
template <class Side>
int of_rank_0(const Side& side, int value) {
  constexpr int tag = 1 << 20;
  if (side.rank() != 0) {
    side.blocking_receive(0, tag, std::as_writable_bytes(std::span{&value, 1}));
    return value;
  }
  for (int rank = 1; rank < side.rank_count(); ++rank) {
    side.blocking_send(rank, tag, std::as_bytes(std::span{&value, 1}));
  }
  return value;
}

}  // namespace bench
