// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/base/clock.hpp"
#include "plait/comm/completion.hpp"
#include "plait/comm/layout.hpp"
#include "plait/comm/matching.hpp"
#include "plait/comm/packing.hpp"
#include "plait/comm/wire.hpp"
#include "plait/net/driver.hpp"

namespace plait::comm::detail {

struct Operation;
struct Waiter;

/// The part of an operation that only a multicast needs.
struct Forwarding {
  // Of a send that passes a message on:
  wire::Route route;
  std::vector<wire::Stop> stops;      ///< Where its receiver is to pass it on to.
  std::shared_ptr<const Bytes> data;  ///< Of a short one; shared by all that it is passed on to;
  Operation* source = nullptr;        ///< else the receive that it takes its data from, or null on the origin.

  // Of a receive whose data is passed on:
  std::size_t available = 0;                               ///< So many bytes from the beginning have come.
  std::vector<std::pair<std::size_t, std::size_t>> ahead;  ///< Pieces beyond these, offset and length.
  std::vector<Operation*> forwards;                        ///< Those sends that are not over.
  Operation* taker = nullptr;  ///< The program's receive that matched while this one was under way.
};

/// The state of one send or receive, shared by the engine and the handles. Counted: the engine holds one count until
/// it has told that the buffer is released.
struct Operation : PostedReceive, Outgoing {
  // Bits of `state`.
  static constexpr std::uint8_t complete = 1;
  static constexpr std::uint8_t has_callback = 2;
  static constexpr std::uint8_t has_waiter = 4;
  // Bits of `events`, for operations that complete before their buffer is released.
  static constexpr std::uint8_t completion_told = 1;
  static constexpr std::uint8_t may_release = 2;

  std::atomic<std::uint32_t> count = 1;
  std::atomic<std::uint8_t> state = 0;
  std::atomic<std::uint8_t> events = 0;
  std::atomic<bool> is_released = false;
  net::Direction direction = net::Direction::sent;
  bool is_active_message = false;
  bool is_silent = false;  ///< Made by the engine itself: no trace, nobody to tell.
  bool was_announced = false;
  bool is_over = false;                   ///< The engine has completed it.
  bool is_released_at_completion = true;  ///< Nobody else needs its buffer.
  std::uint32_t forwards_left = 0;        ///< Sends to others that still need the buffer.
  Status status;
  Completion* completion = nullptr;
  std::function<void(const Status&)> callback;
  Waiter* waiters = nullptr;  ///< Threads that sleep until completion.
  Operation* next_completed = nullptr;
  Operation* next_released = nullptr;

  Rank peer;    ///< Destination of a send; of a matched receive, who holds the data.
  Rank source;  ///< Of a matched receive: who sent it first.
  Tag tag;
  std::uint32_t sequence = 0;
  std::size_t bytes = 0;                 ///< Length of the message.
  std::span<std::byte> memory;           ///< Of the data or the buffer, when it stands together;
  std::unique_ptr<const Layout> layout;  ///< else where it stands.
  Bytes* growing = nullptr;              ///< Of a receive into memory that takes the message's size.
  Bytes owned;  ///< Data of an active message that could not leave at once, or that is arriving.

  // Of an announced message: the sender's number of it, and how far it has been moved.
  std::uint64_t announced = 0;
  std::size_t offered = 0;  ///< Of a receive: so many bytes has the sender.
  std::size_t next_offset = 0;
  std::size_t bytes_moved = 0;
  std::uint32_t pieces_in_flight = 0;
  bool is_wanting = false;  ///< Stands among those that may ask for a piece.
  std::uint64_t turn = 0;   ///< Among receives of announced messages.
  std::unique_ptr<Forwarding> forwarding;

  // For the trace: posted; handed to the network or matched; left or arrived.
  nanoseconds posted{};
  nanoseconds handed{};
  nanoseconds moved{};

  /// Who has the data of a send: itself, or the operation that it passes on.
  [[nodiscard]] const Operation& holder() const {
    return forwarding && forwarding->source != nullptr ? *forwarding->source : *this;
  }
  [[nodiscard]] std::size_t room() const { return layout ? layout->size() : memory.size(); }
  /// Copies the bytes from `offset` on out of the memory.
  void gather(std::size_t offset, std::span<std::byte> to) const;
  /// Copies `from` into the memory, from `offset` on.
  void scatter(std::size_t offset, std::span<const std::byte> from) const;
  /// The memory of these bytes when they stand together, else nothing.
  [[nodiscard]] std::span<std::byte> together(std::size_t offset, std::size_t size) const;
};

void acquire(Operation& operation) noexcept;
void release(Operation* operation) noexcept;

}  // namespace plait::comm::detail
