// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/detail/delivery.hpp"

#include <utility>

namespace plait::comm::detail {

void Delivery::deliver(const Incoming& message) {
  using enum wire::ChunkKind;
  if (!wire::is_matched(message.header.kind)) {
    if (message.header.kind <= active_rts) {
      deliver_active(message);
    } else {
      uses_.one_sided.deliver(message);
    }
    return;
  }
  if (Operation* const receive = uses_.inbox.match(message.envelope()); receive != nullptr) {
    receive->peer = message.via;
    receive->source = message.source;
    if (uses_.trace.is_on()) {  // else these lines are not needed
      receive->handed = uses_.trace.now();
      receive->moved = receive->handed;
    }
    give(*receive, message);
  } else {
    keep(message);
  }
  if (message.header.kind == multicast) {
    uses_.multicast.forward_eager(message);
  }
}

void Delivery::deliver_active(const Incoming& message) {
  const wire::Header& header = message.header;
  if (header.kind == wire::ChunkKind::active) {
    uses_.actives.push_back({HandlerId{static_cast<std::uint32_t>(header.tag)},
                             message.source,
                             Bytes{message.data.begin(), message.data.end()}});
    return;
  }
  auto& receive = *new Operation;
  receive.direction = net::TransferDirection::received;
  receive.is_active_message = true;
  receive.resizable = &receive.own_memory();
  receive.peer = message.via;
  receive.source = message.source;
  receive.comm = CommId{header.comm};
  uses_.completions.start(receive);
  receive.handed = receive.posted;
  give(receive, message);
}

/// Gives a matched message to its receive: the data, or a request for it.
void Delivery::give(Operation& receive, const Incoming& message) {
  if (message.is_forwarded_rendezvous()) {
    uses_.multicast.receive(receive, message);
    return;
  }
  const bool is_rendezvous = wire::is_rts(message.header.kind);
  if (!uses_.completions.accept(receive, message.header)) {
    if (is_rendezvous) {
      uses_.rendezvous.refuse(message.via, message.header.operation);
    }
  } else if (is_rendezvous) {
    uses_.rendezvous.start(receive, message.header.operation, message.available);
  } else {
    receive.scatter(0, message.data);
    uses_.completions.complete(receive, message.header.bytes);
  }
}

// ---- unexpected messages ----

void Delivery::keep(const Incoming& message) {
  auto kept = std::make_unique_for_overwrite<Unexpected>();
  kept->envelope = message.envelope();
  kept->header = message.header;
  kept->via = message.via;
  kept->available = message.available;
  kept->arrived = uses_.trace.now();
  if (message.is_forwarded_rendezvous()) {
    if (uses_.inbox.has_room(message.source, message.header.bytes)) {
      kept->staging = &uses_.multicast.stage(message);
      acquire(*kept->staging);
      kept->memory_bytes = message.header.bytes;
    } else {
      kept->stops.assign(message.stops.begin(), message.stops.end());  // the ranks behind this one wait with it
    }
  } else if (message.packet != nullptr && message.data.size() * 2 >= message.packet->capacity()) {
    kept->packet = std::move(*message.packet);
    kept->memory_bytes = kept->packet.capacity();
  } else {
    kept->data.assign(message.data.begin(), message.data.end());
    kept->memory_bytes = kept->data.size();
  }
  if (uses_.inbox.keep(std::move(kept))) {
    uses_.outbox.send_control(message.source, {.kind = wire::ChunkKind::eager_off});
  }
}

void Delivery::take_out(const Unexpected& message) {
  if (uses_.inbox.free_memory(message)) {
    uses_.outbox.send_control(message.envelope.source, {.kind = wire::ChunkKind::eager_on});
  }
}

void Delivery::give_unexpected(Operation& receive, std::unique_ptr<Unexpected> message) {
  take_out(*message);
  receive.peer = message->via;
  receive.source = message->envelope.source;
  receive.handed = uses_.trace.now();
  receive.moved = message->arrived;
  if (message->staging != nullptr) {
    uses_.multicast.take_staged(receive, *std::exchange(message->staging, nullptr));
  } else {
    give(receive, message->incoming());
  }
  if (message->packet) {
    uses_.network.driver().recycle(std::move(message->packet));
  }
}

// ---- receives ----

void Delivery::receive(Operation& receive) {
  uses_.completions.start(receive);
  if (std::unique_ptr<Unexpected> message = uses_.inbox.post(receive)) {
    give_unexpected(receive, std::move(message));
  }
}

void Delivery::receive_claimed(Operation& receive, std::unique_ptr<Unexpected> message) {
  uses_.completions.start(receive);
  give_unexpected(receive, std::move(message));
}

bool Delivery::cancel(Operation& receive) {
  if (receive.direction != net::TransferDirection::received || !uses_.inbox.cancel(receive)) {
    return false;
  }
  uses_.completions.withdraw();
  return true;
}

void Delivery::drop(std::unique_ptr<Unexpected> message) {
  take_out(*message);
  if (message->staging != nullptr) {
    release(message->staging);
  } else if (!message->stops.empty()) {
    (void)uses_.multicast.stage(message->incoming());
  } else if (wire::is_rts(message->header.kind)) {
    uses_.rendezvous.refuse(message->via, message->header.operation);
  }
  if (message->packet) {
    uses_.network.driver().recycle(std::move(message->packet));
  }
}

}  // namespace plait::comm::detail
