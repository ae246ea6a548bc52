// SPDX-License-Identifier: Apache-2.0
#include "plait/accelerate/engine/pending.hpp"

#include <utility>

#include "plait/accelerate/engine/session.hpp"

namespace plait::accelerate {

std::size_t PendingOperation::bytes() const noexcept {
  std::size_t bytes = transfer.bytes() + sent.bytes();
  for (const MessageTransfer& part : parts) {
    bytes += part.bytes();
  }
  return bytes;
}

bool PendingOperation::is_complete() noexcept {
  if (!is_active) {
    return true;
  }
  while (complete_parts < parts.size() && parts[complete_parts].is_complete()) {
    ++complete_parts;
  }
  return transfer.is_complete() && sent.is_complete() && complete_parts == parts.size();
}

void PendingOperation::wait(EngineSession& session) {
  if (!is_active) {
    return;
  }
  was_awaited = !is_complete();
  session.wait(transfer.request());
  session.wait(sent.request());
  for (MessageTransfer& part : parts) {
    session.wait(part.request());
  }
}

Outcome PendingOperation::outcome() {
  if (!is_active) {
    return {};  // an empty status
  }
  for (MessageTransfer& part : parts) {
    (void)part.outcome(*on);  // its data is where it belongs
  }
  return kind == Kind::collective ? Outcome{} : transfer.outcome(*on);
}

Outcome PendingOperation::end(Tally& tally) {
  if (!is_active) {
    return {};
  }
  is_active = false;
  std::size_t bytes = 0;
  Outcome outcome;
  if (kind == Kind::collective) {
    for (MessageTransfer& part : parts) {
      const Outcome one = part.end(*on);
      bytes += one.bytes;
      outcome.error = one.error != MPI_SUCCESS ? one.error : outcome.error;
    }
    parts.clear();
  } else {
    bytes = transfer.request().result().bytes;
    outcome = transfer.end(*on);
    if (kind == Kind::send_and_receive) {
      (void)sent.end(*on);
    }
  }
  tally.count_ended(bytes, std::exchange(was_awaited, false));
  return outcome;
}

}  // namespace plait::accelerate
