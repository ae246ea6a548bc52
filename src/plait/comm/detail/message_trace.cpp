// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/detail/message_trace.hpp"

namespace plait::comm::detail {

using trace::MessageDirection;
using trace::Protocol;

namespace {

/// An eager message without an operation: all that follows its post happens now.
trace::MessageEvent at_once(
    MessageDirection direction, const wire::Header& header, Rank peer, nanoseconds posted, nanoseconds now) {
  return {.direction = direction,
          .protocol = header.kind == wire::ChunkKind::active ? Protocol::active_message : Protocol::eager,
          .peer = peer,
          .communicator = header.comm,
          .sequence = header.sequence,
          .tag = Tag{header.tag},
          .bytes = header.payload,
          .posted = posted,
          .handed = now,
          .arrived = now,
          .completed = now};
}

}  // namespace

void MessageTrace::sent(const wire::Header& header, Rank to, nanoseconds posted) {
  if (header.kind == wire::ChunkKind::get) {
    return;  // a request; the message is its answer
  }
  trace_.message(at_once(MessageDirection::sent, header, to, posted, recorder_.now()));
}

void MessageTrace::placed(const wire::Header& header, Rank from) {
  const nanoseconds now = recorder_.now();
  trace_.message(at_once(MessageDirection::received, header, from, now, now));
}

void MessageTrace::completed(const Operation& operation) {
  const bool is_send = operation.direction == net::TransferDirection::sent;
  trace::MessageEvent event{.direction = is_send ? MessageDirection::sent : MessageDirection::received,
                            .protocol = operation.is_active_message ? Protocol::active_message
                                        : operation.is_rendezvous   ? Protocol::rendezvous
                                                                    : Protocol::eager,
                            .peer = is_send ? operation.peer : operation.source,
                            .communicator = operation.comm.value(),
                            .sequence = operation.sequence,
                            .tag = operation.tag,
                            .bytes = operation.status.bytes,
                            .posted = operation.posted,
                            .handed = operation.handed,
                            .arrived = operation.moved,
                            .completed = recorder_.now()};
  if (!is_send || !operation.forwarding) {
    trace_.message(event);
    return;
  }
  for (const wire::Stop& stop : operation.forwarding->stops) {
    event.peer = Rank{stop.rank};
    event.sequence = stop.sequence;
    trace_.message(event);
  }
}

}  // namespace plait::comm::detail
