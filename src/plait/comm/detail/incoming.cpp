// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/detail/incoming.hpp"

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait::comm::detail {

void refuse_packet(Rank via, std::size_t bytes) {
  throw Error{ErrorCode::network,
              fmt::format("a packet of {} bytes from rank {} is malformed: do all ranks run the same version of plait?",
                          bytes,
                          via.value()),
              via};
}

Incoming parse(Rank via, const wire::Header& header, std::span<const std::byte> payload, std::uint32_t rank_count) {
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

Incoming Unexpected::incoming() const {
  return {.header = header,
          .source = envelope.source,
          .via = via,
          .data = packet ? packet.bytes().subspan(sizeof(wire::Header), header.payload) : data,
          .available = available,
          .stops = stops};
}

}  // namespace plait::comm::detail
