// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "plait/comm/status.hpp"

namespace plait::comm {

/// A message that waits to be sent. Linked by the strategy that holds it.
struct WaitingMessage {
  CommId comm;
  std::int16_t priority = 0;
  WaitingMessage* next_waiting = nullptr;
};

/// Selects the messages of the next packet to one peer: which of those that wait, in which order, how many.
///
/// Every strategy keeps the order of messages of one communicator. Adding a
/// strategy is one file in comm/packing and one line in packing.cpp. Threads: one at a time. Cost: constant an
/// operation, for `priority` linear in the communicators that wait.
class Packing {
 public:
  Packing() = default;
  Packing(const Packing&) = delete;
  Packing& operator=(const Packing&) = delete;
  virtual ~Packing() = default;

  /// Whether messages wait for a busy link, so that they share a packet.
  [[nodiscard]] virtual bool gathers() const noexcept = 0;
  /// Appends a message to those of its communicator. Borrowed until popped.
  virtual void add(WaitingMessage& message) = 0;
  /// The next message for a packet that holds `packed` messages already; null: the packet should be sent as it is, or
  /// nothing waits.
  [[nodiscard]] virtual WaitingMessage* front(std::size_t packed) const = 0;
  /// Removes what `front` has returned.
  virtual void pop() = 0;
  [[nodiscard]] virtual bool is_empty() const noexcept = 0;
};

/// "immediate": each message has its own packet, in order, whether the link is busy or not.
[[nodiscard]] std::unique_ptr<Packing> make_immediate_packing();
/// "aggregate": messages that have gathered while the link was busy share a packet, in order.
[[nodiscard]] std::unique_ptr<Packing> make_aggregate_packing();
/// "priority": as "aggregate", but the communicator with the most urgent message is first.
[[nodiscard]] std::unique_ptr<Packing> make_priority_packing();

struct PackingEntry {
  std::string_view name;
  std::unique_ptr<Packing> (*make)();
};
/// All strategies.
[[nodiscard]] std::span<const PackingEntry> packing_entries() noexcept;

/// A strategy by its name. Throws: `Error` with `bad_argument` that lists the names, for any other.
[[nodiscard]] std::unique_ptr<Packing> make_packing(std::string_view name,
                                                    std::span<const PackingEntry> table = packing_entries());

}  // namespace plait::comm
