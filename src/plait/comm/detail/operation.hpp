// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/base/clock.hpp"
#include "plait/base/recycled.hpp"
#include "plait/comm/detail/observers.hpp"
#include "plait/comm/layout.hpp"
#include "plait/comm/matching.hpp"
#include "plait/comm/packing.hpp"
#include "plait/comm/wire.hpp"
#include "plait/net/driver.hpp"
#include "plait/net/shared_copies.hpp"

namespace plait::comm {
class Endpoint;
}

namespace plait::comm::detail {

struct Operation;

/// The part of an operation that only a multicast needs.
struct Forwarding {
  // Of a send that forwards a message:
  wire::Route route;
  std::vector<wire::Stop> stops;      ///< Where its receiver forwards it to.
  std::shared_ptr<const Bytes> data;  ///< Of an eager message; shared by all forwards of it;
  net::SharedCopyId copy;             ///< or its data in shared memory;
  Operation* source = nullptr;        ///< else the receive that holds its data, or null on the origin.

  // Of a receive whose data is forwarded:
  std::size_t available = 0;                               ///< Bytes from the beginning that have arrived.
  std::vector<std::pair<std::size_t, std::size_t>> ahead;  ///< Segments beyond these, offset and length.
  std::vector<Operation*> forwards;                        ///< The sends of it that are not complete.
  Operation* taker = nullptr;  ///< The program's receive that matched before this one was complete.
};

/// The memory of a message: contiguous, described by a layout, or resized to the message.
struct MessageMemory {
  std::span<std::byte> memory;           ///< The data or the buffer when it is contiguous;
  std::unique_ptr<const Layout> layout;  ///< else its layout.
  Bytes* resizable = nullptr;            ///< Of a receive into a buffer that is resized to the message.
  std::unique_ptr<Bytes> owned;          ///< Data of an active message that waits to be sent, or that arrives.

  /// Memory of its own, empty at first.
  [[nodiscard]] Bytes& own_memory() {
    owned = std::make_unique<Bytes>();
    return *owned;
  }

  [[nodiscard]] std::size_t room() const { return layout ? layout->size() : memory.size(); }

  /// Copies the bytes from `offset` on out of the memory.
  void gather(std::size_t offset, std::span<std::byte> to) const {
    if (layout) {
      layout->gather(offset, to);
    } else if (!to.empty()) {
      std::memcpy(to.data(), memory.data() + offset, to.size());
    }
  }

  /// Copies `from` into the memory, from `offset` on.
  void scatter(std::size_t offset, std::span<const std::byte> from) const {
    if (layout) {
      layout->scatter(offset, from);
    } else if (!from.empty()) {
      std::memcpy(memory.data() + offset, from.data(), from.size());
    }
  }

  /// The memory of these bytes when it is contiguous, else nothing.
  [[nodiscard]] std::span<std::byte> contiguous(std::size_t offset, std::size_t size) const {
    if (!layout) {
      return memory.subspan(offset, size);
    }
    const std::span<std::byte> block = layout->block_at(offset, size);
    return block.size() == size ? block : std::span<std::byte>{};
  }
};

/// Calls a function of the program, and ends it then.
class Callback final : public Completion {
 public:
  Callback(Endpoint& endpoint, std::function<void(const Status&)> function)
      : endpoint_{endpoint}, function_{std::move(function)} {}

  void completed(const Status& status) noexcept override;
  [[nodiscard]] std::function<void(const Status&)> take() { return std::move(function_); }

 private:
  Endpoint& endpoint_;
  std::function<void(const Status&)> function_;
};

/// The end of an operation: its result, who is notified of it, and what must happen before.
struct OperationEnd {
  // Bits of `events`, for operations that complete before their buffer is released.
  static constexpr std::uint8_t completion_notified = 1;
  static constexpr std::uint8_t may_release = 2;

  std::atomic<std::uint8_t> events = 0;
  std::atomic<bool> is_released = false;
  bool is_over = false;                   ///< The engine has completed it.
  bool is_released_at_completion = true;  ///< No forward needs its buffer.
  std::uint32_t forwards_left = 0;        ///< Forwards that still need the buffer.
  Operation* next_completed = nullptr;
  Status status;
  Observers observers;               ///< Are notified of completion and release.
  std::optional<Callback> callback;  ///< The first one, without an allocation.
  std::atomic<bool> has_callback = false;
  Operation* next_released = nullptr;
};

/// How far a rendezvous message has been moved.
struct RendezvousState {
  std::uint64_t rts = 0;      ///< The sender's number of it.
  std::size_t available = 0;  ///< Of a receive: bytes that the sender has.
  std::size_t next_offset = 0;
  std::size_t bytes_moved = 0;
  std::uint32_t segments_in_flight = 0;
  bool is_queued = false;     ///< Among the receives that may request a segment.
  std::uint64_t arrival = 0;  ///< Number among matched rendezvous receives.
};

/// What an operation has to do with exposed memory.
enum class OneSided : std::uint8_t {
  none,
  put,      ///< Its data goes to exposed memory: the origin's send, the target's receive.
  got,      ///< Its data comes from exposed memory: the target's send, the origin's receive.
  get,      ///< The request for that.
  arrival,  ///< Waits until a number of puts are in place.
};

/// The part of an operation that only puts and gets need.
struct OneSidedState {
  OneSided one_sided = OneSided::none;
  bool is_placed = false;   ///< Of a synchronous put: the target has acknowledged it.
  std::uint64_t place = 0;  ///< Of a put: its offset in the target's memory; its number there, while it is received.
};

/// What an operation is, and its message.
struct MessageIdentity {
  std::atomic<std::uint32_t> count = 1;
  net::TransferDirection direction = net::TransferDirection::sent;
  bool is_active_message = false;
  bool is_internal = false;  ///< Created by the engine itself: not traced, has no handle.
  bool is_rendezvous = false;
  bool is_synchronous = false;  ///< Of a send: completes when it is matched; of a put, when it is in place.
  Rank peer;                    ///< Destination of a send; of a matched receive, the rank that holds the data.
  Rank source;                  ///< Of a matched receive: the first sender.
  std::uint32_t sequence = 0;
  Tag tag;
  std::size_t bytes = 0;  ///< Length of the message.
  std::unique_ptr<Forwarding> forwarding;
};

/// For the trace: when an operation was posted; handed to the network or matched; sent or arrived.
struct OperationTimes {
  nanoseconds posted{};
  nanoseconds handed{};
  nanoseconds moved{};
};

/// The state of a send or receive, reference-counted: shared by the engine, until its release is notified, and the
/// handles.
///
/// What an eager message uses comes first, in as few cache lines as possible: of many outstanding receives, each line
/// must come from memory.
struct Operation : Recycled<Operation>,
                   PostedReceive,
                   MessageIdentity,
                   WaitingMessage,
                   MessageMemory,
                   OperationEnd,
                   RendezvousState,
                   OneSidedState,
                   OperationTimes {
  /// The operation that has the data of a send: itself, or the receive that it forwards.
  [[nodiscard]] const Operation& holder() const {
    return forwarding && forwarding->source != nullptr ? *forwarding->source : *this;
  }
  [[nodiscard]] Forwarding& forwarding_part() {
    if (!forwarding) {
      forwarding = std::make_unique<Forwarding>();
    }
    return *forwarding;
  }
};

inline void acquire(Operation& operation) noexcept {
  operation.count.fetch_add(1, std::memory_order_relaxed);  // the caller holds a count already
}

/// What the engine and a handle share from here on: one count each.
inline Operation& shared(std::unique_ptr<Operation> owned,
                         net::TransferDirection direction,
                         CommId comm,
                         Completion* completion) {
  Operation& operation = *owned.release();
  operation.direction = direction;
  operation.comm = comm;
  operation.count.store(2, std::memory_order_relaxed);  // published by the lock
  if (completion != nullptr) {
    (void)operation.observers.attach(*completion, Interest::until_released);
  }
  return operation;
}

inline void release(Operation* operation) noexcept {
  // Releases what this holder wrote; the last one acquires it. The only holder needs no atomic subtraction.
  if (operation != nullptr && (operation->count.load(std::memory_order_acquire) == 1 ||
                               operation->count.fetch_sub(1, std::memory_order_acq_rel) == 1)) {
    delete operation;
  }
}

}  // namespace plait::comm::detail
