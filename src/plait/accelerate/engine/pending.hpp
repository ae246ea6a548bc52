// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <mpi.h>

#include "plait/accelerate/engine/communicators.hpp"
#include "plait/accelerate/engine/tally.hpp"
#include "plait/accelerate/engine/transfer.hpp"

namespace plait::accelerate {

/// What only some operations need.
struct RestOfOperation {
  MessageTransfer sent;                ///< The send of a pair.
  std::vector<MessageTransfer> parts;  ///< Of a collective.
  std::size_t complete_parts = 0;      ///< Those of `parts`, from the first, that were found complete.
  TypedMessage arguments{};            ///< Of a persistent operation.
  int partitions = 0;                  ///< Of a partitioned one.
  std::atomic<int> not_ready = 0;      ///< Partitions that are missing, and one until the message is sent.

  [[nodiscard]] bool is_complete() noexcept;
};

/// What one of our requests names. Short, as a program may have many thousands. Threads: one at a time, but as noted.
struct PendingOperation {
  enum class Kind : std::uint8_t { send, receive, send_and_receive, collective, partitioned_send };

  RoutedCommunicator* on = nullptr;
  Kind kind = Kind::receive;
  SendMode mode = SendMode::standard;
  bool is_persistent = false;
  bool is_active = false;    ///< Begun and not ended.
  bool was_awaited = false;  ///< Not complete when the program began to wait for it.
  MessageTransfer transfer;
  std::unique_ptr<RestOfOperation> rest;  ///< Of all but a single send or receive.

  /// Adds the rest. Expects: there is none.
  RestOfOperation& add_rest() {
    rest = std::make_unique<RestOfOperation>();
    return *rest;
  }
  /// Starts a persistent one. Threads: as MPI has it, one at a time.
  void start(EngineSession& session);
  /// `count` partitions more may be sent; the last send the message. Threads: any.
  void add_ready(EngineSession& session, int count);
  /// Of all its buffers.
  [[nodiscard]] std::size_t bytes() const noexcept;
  /// Whether to wait for it would return at once.
  [[nodiscard]] bool is_complete() noexcept;
  /// Waits until it is complete. Throws: as the session.
  void wait(EngineSession& session);
  /// What came of it. Expects: it is complete.
  [[nodiscard]] Outcome outcome();
  /// As `outcome`, and ends it.
  Outcome end(Tally& tally);

 private:
  [[nodiscard]] Outcome end_collective(Tally& tally);
  [[nodiscard]] Outcome end_transfer(Tally& tally);
};

/// A message that a probe has claimed for the program.
struct Probed {
  RoutedCommunicator* on = nullptr;
  comm::ClaimedMessage message;
};

}  // namespace plait::accelerate
