// SPDX-License-Identifier: Apache-2.0
#include "plait/accelerate/engine/pending.hpp"

#include <utility>

#include "plait/accelerate/engine/session.hpp"

namespace plait::accelerate {

void PendingOperation::start(EngineSession& session) {
  is_active = true;
  if (kind == Kind::partitioned_send) {
    not_ready.store(partitions + 1, std::memory_order_relaxed);  // the thread that starts makes it ready, or after it
    add_ready(session, 0);
  } else if (kind == Kind::send) {
    transfer.send(session, *on, arguments, mode);
  } else {
    transfer.receive(session, *on, arguments);
  }
  session.begun(*this);
}

void PendingOperation::add_ready(EngineSession& session, int count) {
  if (not_ready.fetch_sub(count, std::memory_order_acq_rel) - count == 1) {  // acquires what others have written
    transfer.send(session, *on, arguments, SendMode::standard);
    not_ready.store(0, std::memory_order_release);  // with acquire in is_complete()
  }
}

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
  if (not_ready.load(std::memory_order_acquire) > 0) {  // with release in add_ready()
    return false;
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
  if (not_ready.load(std::memory_order_acquire) > 0) {  // as in is_complete()
    session.wait_until([this] { return not_ready.load(std::memory_order_acquire) == 0; });
  }
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
  const bool was_active = std::exchange(is_active, false);
  return !was_active ? Outcome{} : kind == Kind::collective ? end_collective(tally) : end_transfer(tally);
}

Outcome PendingOperation::end_collective(Tally& tally) {
  std::size_t bytes = 0;
  Outcome outcome;
  for (MessageTransfer& part : parts) {
    const Outcome one = part.end(*on);
    bytes += one.bytes;
    outcome.error = one.error != MPI_SUCCESS ? one.error : outcome.error;
  }
  parts.clear();
  tally.count_ended(bytes, std::exchange(was_awaited, false));
  return outcome;
}

Outcome PendingOperation::end_transfer(Tally& tally) {
  tally.count_ended(transfer.request().result().bytes, std::exchange(was_awaited, false));
  Outcome outcome = transfer.end(*on);  // built where the caller wants it: to copy it at once would be slow
  if (kind == Kind::send_and_receive) {
    (void)sent.end(*on);
  }
  return outcome;
}

}  // namespace plait::accelerate
