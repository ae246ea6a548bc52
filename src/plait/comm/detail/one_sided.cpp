// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/detail/one_sided.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace plait::comm::detail {

namespace {

/// A send of the engine's own: a get, or its answer.
Operation& internal_send(OneSided kind, Rank to, std::uint64_t id, std::size_t bytes) {
  auto& send = *new Operation;
  send.one_sided = kind;
  send.is_internal = true;
  send.comm = one_sided;
  send.peer = to;
  send.tag = Tag{id};
  send.bytes = bytes;
  return send;
}

}  // namespace

// ---- called by the endpoint ----

ExposedRegion& OneSidedTransfers::expose(std::span<std::byte> memory) {
  uses_.activity.note_listening();
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(regions_.size()));
    regions_.emplace_back();
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  regions_[index] = std::make_unique<ExposedRegion>((++count_ << 32U) | index, memory);
  return *regions_[index];
}

void OneSidedTransfers::withdraw(ExposedRegion& region) {
  region.withdraw();
  while (Operation* const operation = region.take_waiting()) {
    uses_.completions.complete(*operation, 0, ErrorCode::bad_argument);
  }
}

void OneSidedTransfers::remove(ExposedRegion& region) {
  const auto index = static_cast<std::uint32_t>(region.id());
  regions_[index].reset();
  free_.push_back(index);
}

void OneSidedTransfers::wait_for(ExposedRegion& region, std::uint64_t count, Operation& operation) {
  uses_.completions.start(operation);
  region.add(count, operation);
  complete_reached(region);
}

void OneSidedTransfers::get(Operation& receive, std::uint64_t id, std::size_t offset) {
  uses_.completions.start(receive);
  const wire::Get wanted{.offset = offset, .bytes = receive.bytes, .number = gets_.add(receive)};
  const std::span<const std::byte> request = std::as_bytes(std::span{&wanted, 1});
  wire::Header header{.kind = wire::ChunkKind::get, .comm = one_sided.value(), .tag = id, .bytes = request.size()};
  if (uses_.outbox.send_now(receive.peer, header, request)) {
    return;
  }
  Operation& send = internal_send(OneSided::get, receive.peer, id, request.size());
  send.own_memory().assign(request.begin(), request.end());
  send.memory = *send.owned;
  uses_.outbox.send(send);
}

// ---- incoming ----

void OneSidedTransfers::deliver(const Incoming& message) {
  switch (message.header.kind) {
    case wire::ChunkKind::put:
      deliver_put(message);
      break;
    case wire::ChunkKind::put_rts:
      deliver_put_rts(message);
      break;
    case wire::ChunkKind::get:
      deliver_get(message);
      break;
    default:
      deliver_got(message);
  }
}

void OneSidedTransfers::deliver_put(const Incoming& message) {
  const wire::Header& header = message.header;
  ExposedRegion* const region = find(header.tag);
  std::ranges::copy(message.data, range(region, message, header.bytes, message.data.size()).begin());
  if (uses_.trace.is_on()) {
    uses_.trace.placed(header, message.source);
  }
  region->note_put(message.source);
  if (header.operation != 0) {
    uses_.outbox.send_control(message.source, {.kind = wire::ChunkKind::placed, .operation = header.operation});
  }
  complete_reached(*region);
}

void OneSidedTransfers::deliver_put_rts(const Incoming& message) {
  const wire::Header& header = message.header;
  const auto place = read<wire::Place>(message.data, message.via);
  ExposedRegion* const region = find(header.tag);
  const std::span<std::byte> memory = range(region, message, place.offset, header.bytes);
  if (memory.empty()) {
    refuse_packet(message.via, message.data.size());
  }
  auto& receive = *new Operation;
  receive.direction = net::TransferDirection::received;
  receive.one_sided = OneSided::put;
  receive.is_internal = true;
  receive.is_synchronous = place.is_acknowledged != 0;
  receive.comm = one_sided;
  receive.peer = message.source;
  receive.source = message.source;
  receive.memory = memory;
  receive.place = region->start_put(message.source);
  uses_.completions.start(receive);
  receive.handed = receive.posted;
  (void)uses_.completions.accept(receive, header);  // its range is as long as the data
  uses_.rendezvous.start(receive, header.operation, header.bytes);
}

void OneSidedTransfers::note_in_place(const Operation& receive) {
  ExposedRegion& region = *find(receive.tag.value());
  region.end_put(receive.source, receive.place);
  if (receive.is_synchronous) {
    uses_.outbox.send_control(receive.peer, {.kind = wire::ChunkKind::placed, .operation = receive.rts});
  }
  complete_reached(region);
}

void OneSidedTransfers::deliver_get(const Incoming& message) {
  const auto wanted = read<wire::Get>(message.data, message.via);
  ExposedRegion* const region = find(message.header.tag);
  const std::span<std::byte> memory = range(region, message, wanted.offset, wanted.bytes);
  wire::Header header{
      .kind = wire::ChunkKind::got, .comm = one_sided.value(), .tag = wanted.number, .bytes = wanted.bytes};
  if (uses_.outbox.send_now(message.source, header, memory)) {
    return;
  }
  Operation& send = internal_send(OneSided::got, message.source, wanted.number, wanted.bytes);
  send.memory = memory;
  region->start_transfer();
  (void)send.observers.attach(*region, Interest::until_completed);
  uses_.outbox.send(send);
}

void OneSidedTransfers::deliver_got(const Incoming& message) {
  const wire::Header& header = message.header;
  Operation* const receive = gets_.find(header.tag);
  const bool is_rendezvous = wire::is_rts(header.kind);
  if (receive == nullptr || receive->peer != message.source || receive->bytes != header.bytes ||
      (!is_rendezvous && message.data.size() != header.bytes)) {
    refuse_packet(message.via, message.data.size());
  }
  gets_.end(header.tag);
  receive->handed = uses_.trace.now();
  receive->moved = receive->handed;
  (void)uses_.completions.accept(*receive, header);  // as long as its buffer
  if (is_rendezvous) {
    uses_.rendezvous.start(*receive, header.operation, header.bytes);
  } else {
    receive->scatter(0, message.data);
    uses_.completions.complete(*receive, header.bytes);
  }
}

void OneSidedTransfers::complete_reached(ExposedRegion& region) {
  while (Operation* const operation = region.take_reached()) {
    uses_.completions.complete(*operation, 0);
  }
}

ExposedRegion* OneSidedTransfers::find(std::uint64_t id) const noexcept {
  const auto index = static_cast<std::uint32_t>(id);
  ExposedRegion* const region = index < regions_.size() ? regions_[index].get() : nullptr;
  return region != nullptr && region->id() == id ? region : nullptr;
}

/// The part of `region` that a message names. Throws: `Error` with `bad_argument` when there is none.
std::span<std::byte> OneSidedTransfers::range(const ExposedRegion* region,
                                              const Incoming& message,
                                              std::uint64_t offset,
                                              std::uint64_t bytes) const {
  if (region == nullptr || region->is_withdrawn()) [[unlikely]] {
    throw Error{ErrorCode::bad_argument,
                fmt::format("rank {} {} {} bytes at offset {} of memory that rank {} does not expose, or no longer: "
                            "an ExposedMemory must live until all puts and gets of its partners have arrived",
                            message.source.value(),
                            message.header.kind == wire::ChunkKind::get ? "gets" : "puts",
                            bytes,
                            offset,
                            uses_.network.self().value()),
                message.source};
  }
  const std::span<std::byte> memory = region->memory();
  if (offset > memory.size() || bytes > memory.size() - offset) [[unlikely]] {
    throw Error{ErrorCode::bad_argument,
                fmt::format("rank {} asks for bytes {} to {} of memory of {} bytes that rank {} exposes: was its "
                            "MemoryKey changed?",
                            message.source.value(),
                            offset,
                            offset + bytes,
                            memory.size(),
                            uses_.network.self().value()),
                message.source};
  }
  return memory.subspan(offset, bytes);
}

}  // namespace plait::comm::detail
