// SPDX-License-Identifier: Apache-2.0
#include "plait/accelerate/engine/pending.hpp"

#include <utility>

#include "plait/accelerate/engine/session.hpp"

namespace plait::accelerate {

void PendingOperation::start(EngineSession& session) {
  is_active = true;
  if (kind == Kind::partitioned_send) {
    // The thread that starts makes it ready, or one after it.
    rest->not_ready.store(rest->partitions + 1, std::memory_order_relaxed);
    add_ready(session, 0);
  } else if (kind == Kind::send) {
    transfer.send(session, *on, rest->arguments, mode);
  } else {
    transfer.receive(session, *on, rest->arguments);
  }
  session.begun(*this);
}

void PendingOperation::add_ready(EngineSession& session, int count) {
  if (rest->not_ready.fetch_sub(count, std::memory_order_acq_rel) - count == 1) {  // acquires what others have written
    transfer.send(session, *on, rest->arguments, SendMode::standard);
    rest->not_ready.store(0, std::memory_order_release);  // with acquire in is_complete()
  }
}

std::size_t PendingOperation::bytes() const noexcept {
  std::size_t bytes = transfer.bytes();
  if (rest) {
    bytes += rest->sent.bytes();
    for (const MessageTransfer& part : rest->parts) {
      bytes += part.bytes();
    }
  }
  return bytes;
}

bool RestOfOperation::is_complete() noexcept {
  if (not_ready.load(std::memory_order_acquire) > 0) {  // with release in add_ready()
    return false;
  }
  while (complete_parts < parts.size() && parts[complete_parts].is_complete()) {
    ++complete_parts;
  }
  return sent.is_complete() && complete_parts == parts.size();
}

bool PendingOperation::is_complete() noexcept {
  return !is_active || ((!rest || rest->is_complete()) && transfer.is_complete());
}

void PendingOperation::wait(EngineSession& session) {
  if (!is_active) {
    return;
  }
  was_awaited = !is_complete();
  if (rest && rest->not_ready.load(std::memory_order_acquire) > 0) {  // as in is_complete()
    session.wait_until([this] { return rest->not_ready.load(std::memory_order_acquire) == 0; });
  }
  session.wait(transfer.request());
  if (rest) {
    session.wait(rest->sent.request());
    for (MessageTransfer& part : rest->parts) {
      session.wait(part.request());
    }
  }
}

Outcome PendingOperation::outcome() {
  if (!is_active) {
    return {};  // an empty status
  }
  if (kind != Kind::collective) {
    return transfer.outcome(*on);
  }
  for (MessageTransfer& part : rest->parts) {
    (void)part.outcome(*on);  // its data is where it belongs
  }
  return {};
}

Outcome PendingOperation::end(Tally& tally) {
  const bool was_active = std::exchange(is_active, false);
  return !was_active ? Outcome{} : kind == Kind::collective ? end_collective(tally) : end_transfer(tally);
}

Outcome PendingOperation::end_collective(Tally& tally) {
  std::size_t bytes = 0;
  Outcome outcome;
  for (MessageTransfer& part : rest->parts) {
    const Outcome one = part.end(*on);
    bytes += one.bytes;
    outcome.error = one.error != MPI_SUCCESS ? one.error : outcome.error;
  }
  rest->parts.clear();
  tally.count_ended(bytes, std::exchange(was_awaited, false));
  return outcome;
}

Outcome PendingOperation::end_transfer(Tally& tally) {
  tally.count_ended(transfer.request().result().bytes, std::exchange(was_awaited, false));
  Outcome outcome = transfer.end(*on);  // built where the caller wants it: to copy it at once would be slow
  if (kind == Kind::send_and_receive) {
    (void)rest->sent.end(*on);
  }
  return outcome;
}

}  // namespace plait::accelerate
