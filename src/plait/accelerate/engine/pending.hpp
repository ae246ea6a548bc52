// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <mpi.h>

#include "plait/accelerate/engine/communicators.hpp"
#include "plait/accelerate/engine/tally.hpp"
#include "plait/accelerate/engine/transfer.hpp"

namespace plait::accelerate {

/// What one of our requests names. Threads: one at a time.
struct PendingOperation {
  enum class Kind : std::uint8_t { send, receive, send_and_receive, collective };

  RoutedCommunicator* on = nullptr;
  Kind kind = Kind::receive;
  SendMode mode = SendMode::standard;
  bool is_persistent = false;
  bool is_active = false;    ///< Begun and not ended.
  bool was_awaited = false;  ///< Not complete when the program began to wait for it.
  MessageTransfer transfer;
  MessageTransfer sent;                ///< The send of a pair.
  std::vector<MessageTransfer> parts;  ///< Of a collective.
  std::size_t complete_parts = 0;      ///< Those of `parts`, from the first, that were found complete.
  TypedMessage arguments{};            ///< Of a persistent operation.

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
};

/// A message that a probe has claimed for the program.
struct Probed {
  RoutedCommunicator* on = nullptr;
  comm::ClaimedMessage message;
};

}  // namespace plait::accelerate
