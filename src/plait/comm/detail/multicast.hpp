// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "plait/base/error.hpp"
#include "plait/comm/detail/branches.hpp"
#include "plait/comm/detail/completions.hpp"
#include "plait/comm/detail/incoming.hpp"
#include "plait/comm/detail/network.hpp"
#include "plait/comm/detail/operation.hpp"
#include "plait/comm/detail/outbox.hpp"
#include "plait/comm/detail/rendezvous_receiver.hpp"
#include "plait/comm/detail/sequences.hpp"
#include "plait/comm/wire.hpp"
#include "plait/net/shared_copies.hpp"

namespace plait::comm::detail {

/// Sends and forwards multicasts: each rank forwards a message to the destinations that came with it, also before its
/// own receive is posted. Segments of a rendezvous message are forwarded as they arrive. Where ranks share memory, the
/// first sender copies what is too long for a packet there once, and all of them read it. Threads: one at a time.
class Multicast {
 public:
  /// All must outlive it.
  Multicast(
      Network& network, Outbox& outbox, Completions& completions, Sequences& sequences, RendezvousReceiver& rendezvous)
      : network_{network}, outbox_{outbox}, completions_{completions}, sequences_{sequences}, rendezvous_{rendezvous} {}

  /// The node of each rank; empty: one node.
  void set_nodes(std::vector<std::uint32_t> nodes) { nodes_ = std::move(nodes); }

  /// Starts `send` to each of `stops`, whose ranks differ; their sequence numbers are set here.
  void send(Operation& send, std::vector<wire::Stop> stops) {
    completions_.start(send);
    send.handed = send.posted;
    for (wire::Stop& stop : stops) {
      stop.sequence = sequences_.next_sent(Rank{stop.rank}, send.comm);
    }
    Forwarding& forwarding = send.forwarding_part();
    forwarding.available = send.bytes;
    forwarding.stops = stops;  // for the trace
    const wire::Header header{
        .priority = send.priority, .comm = send.comm.value(), .tag = send.tag.value(), .bytes = send.bytes};
    const std::size_t left = share(send, header, stops);
    if (left == 0) {
      completions_.complete(send, send.bytes);
      return;
    }
    forward(send, header, network_.self(), std::span{stops}.first(left));
  }

  /// Forwards an eager message, if it has stops.
  void forward_eager(const Incoming& message) {
    if (message.stops.empty()) {
      return;
    }
    const auto data = std::make_shared<const Bytes>(message.data.begin(), message.data.end());
    for (const Branch& branch : divided(message.stops)) {
      Operation& send = make_forward(message.header, message.source, branch);
      send.forwarding->data = data;
      send.memory = {const_cast<std::byte*>(data->data()), data->size()};  // a send only reads
      outbox_.enqueue(send);
    }
  }

  /// Receives a rendezvous message with the program's receive, and forwards it.
  void receive(Operation& receive, const Incoming& message) {
    if (completions_.accept(receive, message.header)) {
      forward(receive, message.header, message.source, message.stops);
      rendezvous_.start(receive, message.header.operation, message.available);
    } else {
      (void)stage(message);  // the other ranks still want it
    }
  }

  /// Receives a rendezvous message for the ranks behind this one only; `take_staged` gives it to a later receive.
  [[nodiscard]] Operation& stage(const Incoming& message) {
    auto& staging = *new Operation;
    staging.direction = net::TransferDirection::received;
    staging.is_internal = true;
    staging.comm = CommId{message.header.comm};
    staging.peer = message.via;
    staging.source = message.source;
    staging.resizable = &staging.own_memory();
    completions_.start(staging);
    if (completions_.accept(staging, message.header)) {
      forward(staging, message.header, message.source, message.stops);
      rendezvous_.start(staging, message.header.operation, message.available);
    } else {
      rendezvous_.refuse(message.via, message.header.operation);
      network_.fail(Error{ErrorCode::out_of_memory, "no memory is left for a multicast that this rank forwards"});
    }
    return staging;
  }

  /// Gives the program's receive what was staged, now or when it is complete. Takes over one count of `staging`.
  void take_staged(Operation& receive, Operation& staging) {
    if (!staging.is_over) {
      staging.forwarding_part().taker = &receive;
      return;
    }
    const wire::Header header{.kind = wire::ChunkKind::multicast_rts,
                              .priority = staging.priority,
                              .sequence = staging.sequence,
                              .tag = staging.tag.value(),
                              .bytes = staging.bytes};
    if (completions_.accept(receive, header)) {
      receive.scatter(0, *staging.owned);
      completions_.complete(receive, staging.bytes);
    }
    release(&staging);
  }

  /// A segment of `source` has arrived: what is there from the beginning is offered to the next ranks.
  void segment_arrived(Operation& source, std::size_t offset, std::size_t bytes) {
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
    const std::vector<Operation*> sends = forwarding.forwards;  // a copy: eager ones that are sent now end
    for (Operation* const send : sends) {
      if (send->is_rendezvous) {  // else its request to send will contain it
        outbox_.send_control(
            send->peer, {.kind = wire::ChunkKind::available, .bytes = forwarding.available, .operation = send->rts});
      }
    }
  }

 private:
  /// With one reader, a rendezvous copies once, and a shared copy twice.
  static constexpr std::uint32_t readers_min = 2;

  /// Destinations that fit into a packet with their header.
  [[nodiscard]] std::size_t stops_max() const {
    return (network_.driver().packet_bytes_max() - sizeof(wire::Header) - sizeof(wire::Route)) / sizeof(wire::Stop);
  }

  [[nodiscard]] std::vector<Branch> divided(std::span<const wire::Stop> stops) const {
    return nodes_.empty() ? branches(stops, stops_max())
                          : branches_by_node(stops, stops_max(), nodes_, network_.self());
  }

  [[nodiscard]] Operation& make_forward(const wire::Header& header, Rank origin, const Branch& branch) {
    auto& send = *new Operation;
    send.direction = net::TransferDirection::sent;
    send.is_internal = true;
    send.peer = Rank{branch.to.rank};
    send.comm = CommId{header.comm};
    send.tag = Tag{header.tag};
    send.priority = header.priority;
    send.sequence = branch.to.sequence;
    send.bytes = header.bytes;
    Forwarding& forwarding = send.forwarding_part();
    forwarding.route = {origin.value(), static_cast<std::uint32_t>(branch.stops.size())};
    forwarding.stops = branch.stops;
    completions_.start(send);
    return send;
  }

  /// Copies the data to shared memory and sends the copy to those of `stops` that can read it. Moves the others to the
  /// front; returns their number: all, when the data fits into a packet, few can read a copy, or no memory is left.
  [[nodiscard]] std::size_t share(const Operation& send, const wire::Header& header, std::span<wire::Stop> stops) {
    net::SharedCopies* const copies = network_.driver().shared_copies();
    const std::size_t packet_bytes = sizeof header + sizeof(wire::Route) + stops.size_bytes() + send.bytes;
    if (copies == nullptr || packet_bytes <= network_.driver().packet_bytes_max() || send.bytes > copies->bytes_max()) {
      return stops.size();
    }
    const auto reads = [&](const wire::Stop& stop) {
      return copies->reaches(Rank{stop.rank}) && outbox_.allows_eager(Rank{stop.rank}, send.bytes);
    };
    const auto reader_count = static_cast<std::uint32_t>(std::ranges::count_if(stops, reads));
    const auto copy = reader_count >= readers_min ? copies->create(send.bytes, reader_count) : std::nullopt;
    if (!copy) {
      return stops.size();
    }
    send.gather(0, copy->bytes);
    for (const wire::Stop& reader : std::ranges::stable_partition(stops, std::not_fn(reads))) {
      Operation& forward = make_forward(header, network_.self(), {.to = reader, .stops = {}});
      forward.forwarding->copy = copy->id;
      outbox_.enqueue(forward);
    }
    return stops.size() - reader_count;
  }

  /// Forwards what `source` holds or will hold.
  void forward(Operation& source, const wire::Header& header, Rank origin, std::span<const wire::Stop> stops) {
    Forwarding& forwarding = source.forwarding_part();
    const std::vector<Branch> all = divided(stops);
    source.forwards_left += static_cast<std::uint32_t>(all.size());
    for (const Branch& branch : all) {
      Operation& send = make_forward(header, origin, branch);
      send.forwarding->source = &source;
      forwarding.forwards.push_back(&send);
      outbox_.enqueue(send);
    }
  }

  Network& network_;
  Outbox& outbox_;
  Completions& completions_;
  Sequences& sequences_;
  RendezvousReceiver& rendezvous_;
  std::vector<std::uint32_t> nodes_;
};

}  // namespace plait::comm::detail
