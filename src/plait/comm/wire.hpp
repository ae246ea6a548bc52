// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace plait::comm::wire {

/// What a chunk of a packet is. Chunks up to `got_rts` have a place in the order of their (source, communicator), and a
/// packet with one of them costs a credit; all others are control. Chunks up to `multicast_rts` are matched. The
/// numbers change with the format, so that ranks with different versions of plait notice it.
enum class ChunkKind : std::uint8_t {
  eager = 0x41,      ///< A message with its data; `operation` may be a digest of claims (see CommClaims).
  rts = 0x42,        ///< Request to send: the data waits on the sender; `operation` names it there.
  multicast = 0x43,  ///< A message with its data, to be forwarded: a `Route`, its `Stop`s, and the data; without it,
                     ///< `operation` - 1 is a shared copy of the packet's sender.
  multicast_rts = 0x44,  ///< Request to send such a message: a `Route` and its `Stop`s.
  active = 0x45,         ///< An active message with its data; `tag` is the handler.
  active_rts = 0x46,     ///< Request to send an active message.
  put = 0x47,            ///< Data for exposed memory `tag`, from `bytes` on; `operation` waits for `placed` unless 0.
  put_rts = 0x48,        ///< Request to send data for exposed memory `tag`: a `Place`.
  get = 0x49,            ///< Request for data of exposed memory `tag`: a `Get`.
  got = 0x4a,            ///< The data for the get `tag`.
  got_rts = 0x4b,        ///< Request to send the data for the get `tag`.
  cts = 0x51,            ///< Clear to send: the receiver of `operation` has posted a bulk slot for a segment: a `Cts`.
  refused = 0x52,        ///< The receiver of `operation` does not want its data.
  credit = 0x53,         ///< Nothing but the credits in the header.
  eager_off = 0x54,      ///< From now on use rendezvous only: memory for unexpected data is used up.
  eager_on = 0x55,
  failed = 0x56,     ///< The sender gives up the run; the payload is the sentence.
  available = 0x57,  ///< Of the multicast `operation`, the first `bytes` bytes can be sent now.
  placed = 0x58,     ///< The data of the put `operation` is in place.
};

[[nodiscard]] constexpr bool is_sequenced(ChunkKind kind) noexcept {
  return kind <= ChunkKind::got_rts;
}
[[nodiscard]] constexpr bool is_matched(ChunkKind kind) noexcept {
  return kind <= ChunkKind::multicast_rts;
}
[[nodiscard]] constexpr bool is_rts(ChunkKind kind) noexcept {
  using enum ChunkKind;
  return kind == rts || kind == multicast_rts || kind == active_rts || kind == put_rts || kind == got_rts;
}

/// A packet is a sequence of chunks, each a header and its payload, each beginning at a multiple of 8 bytes. All
/// little-endian, as the machines are.
struct Header {
  ChunkKind kind = ChunkKind::credit;
  std::uint8_t credits = 0;  ///< Packets that the receiver may send in addition; in the first chunk of a packet.
  std::int16_t priority = 0;
  std::uint32_t comm = 0;
  std::uint32_t sequence = 0;  ///< Within (source, destination, communicator).
  std::uint32_t payload = 0;   ///< Bytes that follow in this chunk.
  std::uint64_t tag = 0;
  std::uint64_t bytes = 0;  ///< Length of the message, except where its kind has another meaning.
  std::uint64_t operation = 0;
};
static_assert(sizeof(Header) == 40 && std::is_trivially_copyable_v<Header>);

/// Which segment of a rendezvous message the receiver takes next, and in which bulk slot.
struct Cts {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t slot = 0;
};
static_assert(sizeof(Cts) == 24);

/// Of a multicast: its first sender, and the number of destinations that its receiver forwards it to.
struct Route {
  std::uint32_t origin = 0;
  std::uint32_t stop_count = 0;
  std::uint64_t available = 0;  ///< Of a rendezvous message: bytes that the sender has itself.
};

/// One of those destinations, with the message's number within (origin, destination, communicator).
struct Stop {
  std::uint32_t rank = 0;
  std::uint32_t sequence = 0;
};
static_assert(sizeof(Route) == 16 && sizeof(Stop) == 8);

/// Where the data of a put goes in the target's memory.
struct Place {
  std::uint64_t offset = 0;
  std::uint64_t is_acknowledged = 0;  ///< 1: the origin waits for `placed`.
};

/// What a get wants of the target's memory, and its number on the origin.
struct Get {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t number = 0;
};
static_assert(sizeof(Place) == 16 && sizeof(Get) == 24);

[[nodiscard]] constexpr std::size_t aligned(std::size_t bytes) noexcept {
  return (bytes + 7U) & ~std::size_t{7};
}

}  // namespace plait::comm::wire
