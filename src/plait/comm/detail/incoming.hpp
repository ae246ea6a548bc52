// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "plait/base/bytes.hpp"
#include "plait/base/clock.hpp"
#include "plait/base/error.hpp"
#include "plait/base/recycled.hpp"
#include "plait/comm/detail/operation.hpp"
#include "plait/comm/matching.hpp"
#include "plait/comm/wire.hpp"
#include "plait/net/packet.hpp"

namespace plait::comm::detail {

/// A message as it comes in; what it refers to is in the packet.
struct Incoming {
  const wire::Header& header;
  Rank source;
  Rank via;  ///< The rank that the packet came from.
  std::span<const std::byte> data;
  std::size_t available = 0;  ///< Bytes that `via` has, of a rendezvous message.
  std::span<const wire::Stop> stops;
  net::Packet* packet = nullptr;  ///< When the packet holds nothing else.

  [[nodiscard]] MessageEnvelope envelope() const { return {CommId{header.comm}, source, Tag{header.tag}}; }
  /// Whether this rank forwards it, and must receive the data for that first.
  [[nodiscard]] bool is_forwarded_rendezvous() const {
    return header.kind == wire::ChunkKind::multicast_rts && !stops.empty();
  }
};

/// A message that arrived before its receive.
struct Unexpected : Recycled<Unexpected>, UnexpectedMessage {
  wire::Header header;
  Rank via;                       ///< The rank that holds the data of a rendezvous message,
  std::size_t available = 0;      ///< and how much of it.
  Bytes data;                     ///< Of one that was copied out of its packet;
  net::Packet packet;             ///< else the packet itself, which holds nothing else.
  std::vector<wire::Stop> stops;  ///< Of a multicast: where it still has to be forwarded to.
  Operation* staging = nullptr;   ///< Of a multicast that is forwarded already: the receive that holds the data.
  std::size_t memory_bytes = 0;   ///< What it takes, as counted against its source.
  nanoseconds arrived{};

  /// As it came in.
  [[nodiscard]] Incoming incoming() const {
    return {.header = header,
            .source = envelope.source,
            .via = via,
            .data = packet ? packet.bytes().subspan(sizeof(wire::Header), header.payload) : data,
            .available = available,
            .stops = stops};
  }
};

/// Throws `Error` with `network`: a packet of `bytes` from `via` is malformed.
[[noreturn]] inline void refuse_packet(Rank via, std::size_t bytes) {
  throw Error{ErrorCode::network,
              fmt::format("a packet of {} bytes from rank {} is malformed: do all ranks run the same version of plait?",
                          bytes,
                          via.value()),
              via};
}

/// The object of a packet that `bytes` begin with. Throws: as `refuse_packet`, when they are too few.
template <class Part>
[[nodiscard]] Part read(std::span<const std::byte> bytes, Rank via) {
  if (bytes.size() < sizeof(Part)) {
    refuse_packet(via, bytes.size());
  }
  Part part;
  std::memcpy(&part, bytes.data(), sizeof part);
  return part;
}

/// Reads a message's chunk; the result refers to `payload`. Throws: as `refuse_packet`.
[[nodiscard]] inline Incoming parse(Rank via,
                                    const wire::Header& header,
                                    std::span<const std::byte> payload,
                                    std::uint32_t rank_count) {
  Incoming message{.header = header, .source = via, .via = via, .data = payload, .available = header.bytes};
  if (header.kind == wire::ChunkKind::multicast || header.kind == wire::ChunkKind::multicast_rts) {
    const auto route = read<wire::Route>(payload, via);
    const std::size_t stops_bytes = route.stop_count * sizeof(wire::Stop);
    if (route.origin >= rank_count || payload.size() < sizeof route + stops_bytes) {
      refuse_packet(via, payload.size());
    }
    message.source = Rank{route.origin};
    message.available = route.available;
    message.stops = {reinterpret_cast<const wire::Stop*>(payload.data() + sizeof route), route.stop_count};
    message.data = payload.subspan(sizeof route + stops_bytes);
  }
  return message;
}

}  // namespace plait::comm::detail
