// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <mpi.h>

#include "plait/accelerate/engine/communicators.hpp"
#include "plait/accelerate/engine/transfer.hpp"

namespace plait::accelerate {

/// What one of our requests names.
struct PendingOperation {
  enum class Kind : std::uint8_t { send, receive, send_and_receive };

  RoutedCommunicator* on = nullptr;
  Kind kind = Kind::receive;
  SendMode mode = SendMode::standard;
  bool is_persistent = false;
  bool is_active = false;    ///< Begun and not ended.
  bool was_awaited = false;  ///< Not complete when the program began to wait for it.
  MessageTransfer transfer;
  MessageTransfer sent;      ///< The send of a pair.
  TypedMessage arguments{};  ///< Of a persistent operation.

  /// Whether to wait for it would return at once.
  [[nodiscard]] bool is_complete() const noexcept {
    return !is_active || (transfer.is_complete() && sent.is_complete());
  }
};

/// A message that a probe has claimed for the program.
struct Probed {
  RoutedCommunicator* on = nullptr;
  comm::ClaimedMessage message;
};

}  // namespace plait::accelerate
