// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "plait/comm/status.hpp"

namespace plait::comm {

/// A message that waits to be sent. The strategy links it into its lists.
struct WaitingMessage {
  CommId comm;
  std::int16_t priority = 0;
  WaitingMessage* next_waiting = nullptr;
};

/// Selects the messages of the next packet to one peer.
///
/// Every strategy keeps the order of messages of one communicator. A new strategy is one file in comm/packing and one
/// line in packing.cpp. Threads: one at a time. Cost: constant for each operation; for `priority`, linear in the
/// communicators with waiting messages.
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
  /// Returns the next message for a packet that has `packed` messages; null when the packet should be sent as it is, or
  /// no message waits.
  [[nodiscard]] virtual WaitingMessage* front(std::size_t packed) const = 0;
  /// Removes what `front` has returned.
  virtual void pop() = 0;
  [[nodiscard]] virtual bool is_empty() const noexcept = 0;
};

/// "immediate": each message has its own packet, in order.
[[nodiscard]] std::unique_ptr<Packing> make_immediate_packing();
/// "aggregate": messages that waited for a busy link share a packet, in order.
[[nodiscard]] std::unique_ptr<Packing> make_aggregate_packing();
/// "priority": as "aggregate", but the communicator with the most urgent message goes first.
[[nodiscard]] std::unique_ptr<Packing> make_priority_packing();

struct PackingEntry {
  std::string_view name;
  std::unique_ptr<Packing> (*make)();
};
/// Returns all strategies.
[[nodiscard]] std::span<const PackingEntry> packing_entries() noexcept;

/// Creates a strategy by its name. "automatic" is what a runtime has measured to be better on this machine, else
/// "aggregate". Throws: `Error` with `bad_argument` for another name, which lists the names.
[[nodiscard]] std::unique_ptr<Packing> make_packing(std::string_view name,
                                                    std::span<const PackingEntry> table = packing_entries());

}  // namespace plait::comm
