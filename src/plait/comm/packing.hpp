// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "plait/comm/status.hpp"

namespace plait::comm {

/// A message that waits to leave. Linked by the strategy that holds it.
struct Outgoing {
  CommId comm;
  std::int16_t priority = 0;
  Outgoing* next_outgoing = nullptr;
};

/// Decides what goes into the next packet to one peer: which of the waiting messages, in which order, how many.
///
/// Whatever a strategy does, messages of one communicator leave in the order in which they were added. Adding a
/// strategy is one file in comm/packing and one line in packing.cpp. Threads: one at a time. Cost: constant an
/// operation, for `priority` linear in the communicators that wait.
class Packing {
 public:
  Packing() = default;
  Packing(const Packing&) = delete;
  Packing& operator=(const Packing&) = delete;
  Packing(Packing&&) = delete;
  Packing& operator=(Packing&&) = delete;
  virtual ~Packing() = default;

  /// Whether messages wait for a busy link, so that they leave together.
  [[nodiscard]] virtual bool gathers() const noexcept = 0;
  /// Takes a message in behind the others of its communicator. Borrowed until popped.
  virtual void add(Outgoing& message) = 0;
  /// The message that should go next into a packet that holds `packed` messages already; null = the packet should
  /// leave as it is, or nothing waits.
  [[nodiscard]] virtual Outgoing* front(std::size_t packed) const = 0;
  /// Takes out what `front` has answered.
  virtual void pop() = 0;
  [[nodiscard]] virtual bool is_empty() const noexcept = 0;
};

/// "immediate": each message leaves by itself, in order, busy link or not.
[[nodiscard]] std::unique_ptr<Packing> make_immediate_packing();
/// "aggregate": what has gathered while the link was busy leaves together, in order.
[[nodiscard]] std::unique_ptr<Packing> make_aggregate_packing();
/// "priority": as "aggregate", but the communicator with the most urgent message goes first.
[[nodiscard]] std::unique_ptr<Packing> make_priority_packing();

/// A strategy by its name. Throws: `Error` with `bad_argument` that lists the names, for any other.
[[nodiscard]] std::unique_ptr<Packing> make_packing(std::string_view name);

}  // namespace plait::comm
