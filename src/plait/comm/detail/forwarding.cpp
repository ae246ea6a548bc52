// SPDX-License-Identifier: Apache-2.0
// Multicast: each rank passes on what it got to the part of the destinations that came with it.
#include <algorithm>

#include "plait/comm/detail/engine.hpp"
#include "plait/comm/detail/multicast_tree.hpp"

namespace plait::comm::detail {

namespace {

Forwarding& forwarding_of(Operation& operation) {
  if (!operation.forwarding) {
    operation.forwarding = std::make_unique<Forwarding>();
  }
  return *operation.forwarding;
}

}  // namespace

/// Destinations that fit into a packet with their header.
std::size_t Engine::stops_max() const {
  return (driver_.packet_bytes_max() - sizeof(wire::Header) - sizeof(wire::Route)) / sizeof(wire::Stop);
}

void Engine::multicast(Operation& operation, std::vector<wire::Stop> stops) {
  operation.posted = now_if_tracing();
  operation.handed = operation.posted;
  ++outstanding_;
  for (wire::Stop& stop : stops) {
    stop.sequence = peer(Rank{stop.rank}).stream(operation.comm).next_sent++;
  }
  Forwarding& forwarding = forwarding_of(operation);
  forwarding.available = operation.bytes;
  forwarding.stops = std::move(stops);  // for the trace
  if (forwarding.stops.empty()) {
    complete(operation, operation.bytes);
    return;
  }
  const wire::Header header{.priority = operation.priority,
                            .comm = operation.comm.value(),
                            .tag = operation.tag.value(),
                            .bytes = operation.bytes};
  forward(operation, header, driver_.self(), forwarding.stops);
}

Operation& Engine::make_forward(const wire::Header& header, Rank origin, const Branch& branch) {
  auto& send = *new Operation;
  send.direction = net::Direction::sent;
  send.is_silent = true;
  send.peer = Rank{branch.to.rank};
  send.comm = CommId{header.comm};
  send.tag = Tag{header.tag};
  send.priority = header.priority;
  send.sequence = branch.to.sequence;
  send.bytes = header.bytes;
  Forwarding& forwarding = forwarding_of(send);
  forwarding.route = {origin.value(), static_cast<std::uint32_t>(branch.stops.size())};
  forwarding.stops = branch.stops;
  ++outstanding_;
  return send;
}

/// Passes on what `source` holds, or will hold: announced at once, moved as its pieces come.
void Engine::forward(Operation& source, const wire::Header& header, Rank origin, std::span<const wire::Stop> stops) {
  (void)forwarding_of(source);
  const std::vector<Branch> all = branches(stops, stops_max());
  source.forwards_left += static_cast<std::uint32_t>(all.size());
  for (const Branch& branch : all) {
    Operation& send = make_forward(header, origin, branch);
    send.forwarding->source = &source;
    source.forwarding->forwards.push_back(&send);
    wait_to_leave(send);
  }
}

void Engine::forward_short(const Incoming& message) {
  const auto data = std::make_shared<const Bytes>(message.data.begin(), message.data.end());
  for (const Branch& branch : branches(message.stops, stops_max())) {
    Operation& send = make_forward(message.header, message.source, branch);
    send.forwarding->data = data;
    send.memory = {const_cast<std::byte*>(data->data()), data->size()};  // a send only reads
    wait_to_leave(send);
  }
}

/// A receive of the engine's own, for data that others behind this rank wait for.
Operation& Engine::stage(const Incoming& message) {
  auto& staging = *new Operation;
  staging.direction = net::Direction::received;
  staging.is_silent = true;
  staging.comm = CommId{message.header.comm};
  staging.peer = message.via;
  staging.source = message.source;
  staging.growing = &staging.owned;
  ++outstanding_;
  if (make_room(staging, message.header)) {
    forward(staging, message.header, message.source, message.stops);
    start_bulk_receive(staging, message);
  } else {
    send_control(message.via, {.kind = wire::Kind::refused, .operation = message.header.operation});
    set_failure(Error{ErrorCode::out_of_memory, "no memory is left for a multicast that this rank passes on"});
  }
  return staging;
}

/// An announced message that this rank has a receive for, and passes on.
void Engine::deliver_announced_multicast(Operation& operation, const Incoming& message) {
  if (make_room(operation, message.header)) {
    forward(operation, message.header, message.source, message.stops);
    start_bulk_receive(operation, message);
  } else {
    (void)stage(message);  // the others want it all the same
  }
}

/// Gives the program's receive what was received for others before. Takes over the message's count of `staging`.
void Engine::take_from_staging(Operation& operation, Operation& staging) {
  if (!staging.is_over) {
    forwarding_of(staging).taker = &operation;
    return;
  }
  wire::Header header{.kind = wire::Kind::multicast_request,
                      .priority = staging.priority,
                      .sequence = staging.sequence,
                      .tag = staging.tag.value(),
                      .bytes = staging.bytes};
  if (make_room(operation, header)) {
    operation.scatter(0, staging.owned);
    complete(operation, staging.bytes);
  }
  release(&staging);
}

/// Notes that a piece of `source` has come, and offers what is there from the beginning to those that it is passed on
/// to.
void Engine::more_is_available(Operation& source, std::size_t offset, std::size_t bytes) {
  if (source.forwards_left == 0) {
    return;
  }
  Forwarding& forwarding = *source.forwarding;
  forwarding.ahead.emplace_back(offset, bytes);
  for (auto next = forwarding.ahead.begin(); next != forwarding.ahead.end();) {
    if (next->first == forwarding.available) {
      forwarding.available += next->second;
      forwarding.ahead.erase(next);
      next = forwarding.ahead.begin();
    } else {
      ++next;
    }
  }
  const std::vector<Operation*> sends = forwarding.forwards;  // a copy: short ones that leave now end
  for (Operation* const send : sends) {
    if (send->was_announced) {  // else the announcement will tell
      send_control(send->peer,
                   {.kind = wire::Kind::offer, .bytes = forwarding.available, .operation = send->announced});
    }
  }
}

/// One of those that pass `source` on does not need its data any more.
void Engine::forward_done(Operation& source, Operation& forward) {
  std::erase(source.forwarding->forwards, &forward);
  if (--source.forwards_left > 0) {
    return;
  }
  if (source.direction == net::Direction::sent) {
    complete(source, source.bytes);  // the program's own multicast
  } else if (source.is_over) {
    released(source);
  }
}

}  // namespace plait::comm::detail
