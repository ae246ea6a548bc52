// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace plait::comm::wire {

/// What a chunk of a packet is. Those up to `multicast_request` have a place in the order of their (source,
/// communicator), and a packet that holds one costs a credit; the others are control. The numbers change with the
/// format, so that ranks with another version of plait are found out.
enum class Kind : std::uint8_t {
  eager = 0x21,              ///< A message with its data.
  request = 0x22,            ///< Announces a message whose data waits on the sender; `operation` names it there.
  active = 0x23,             ///< An active message with its data; `tag` is the handler.
  active_request = 0x24,     ///< Announces an active message whose data waits on the sender.
  multicast = 0x25,          ///< A message with its data, to be passed on: a `Route`, its `Stop`s, the data.
  multicast_request = 0x26,  ///< Announces such a message: a `Route` and its `Stop`s.
  ready = 0x31,              ///< The receiver of the announced `operation` has posted a bulk slot: a `Ready`.
  refused = 0x32,            ///< The receiver of the announced `operation` does not want its data.
  credit = 0x33,             ///< Nothing but the credits in the header.
  eager_off = 0x34,          ///< From now on announce only: memory for unexpected data is used up.
  eager_on = 0x35,
  failed = 0x36,  ///< The sender gives up the run; the payload is the sentence.
  offer = 0x37,   ///< Of the multicast announced as `operation`, the first `bytes` bytes may now be asked for.
};

[[nodiscard]] constexpr bool is_sequenced(Kind kind) noexcept {
  return kind <= Kind::multicast_request;
}
[[nodiscard]] constexpr bool is_announcement(Kind kind) noexcept {
  return kind == Kind::request || kind == Kind::active_request || kind == Kind::multicast_request;
}

/// A packet is a row of chunks, each a header and its payload, each beginning at a multiple of 8 bytes. All
/// little-endian, as the machines are.
struct Header {
  Kind kind = Kind::credit;
  std::uint8_t credits = 0;  ///< Packets that the receiver may send on top; in the first chunk of a packet.
  std::int16_t priority = 0;
  std::uint32_t comm = 0;
  std::uint32_t sequence = 0;  ///< Within (source, destination, communicator).
  std::uint32_t payload = 0;   ///< Bytes that follow in this chunk.
  std::uint64_t tag = 0;
  std::uint64_t bytes = 0;  ///< Length of the message.
  std::uint64_t operation = 0;
};
static_assert(sizeof(Header) == 40 && std::is_trivially_copyable_v<Header>);

/// Where the receiver of an announced message takes the next piece of it.
struct Ready {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t slot = 0;
};
static_assert(sizeof(Ready) == 24);

/// Of a multicast: who sent it first, and how many destinations its receiver is to pass it on to.
struct Route {
  std::uint32_t origin = 0;
  std::uint32_t stop_count = 0;
  std::uint64_t offered = 0;  ///< Of an announced one: bytes that the sender has itself.
};

/// One of those destinations, with the message's number within (origin, destination, communicator).
struct Stop {
  std::uint32_t rank = 0;
  std::uint32_t sequence = 0;
};
static_assert(sizeof(Route) == 16 && sizeof(Stop) == 8);

[[nodiscard]] constexpr std::size_t aligned(std::size_t bytes) noexcept {
  return (bytes + 7U) & ~std::size_t{7};
}

}  // namespace plait::comm::wire
