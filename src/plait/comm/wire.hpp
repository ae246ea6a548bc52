// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

namespace plait::comm::wire {

/// What a packet is. The first four carry a sequence number and cost a credit; the others are control.
enum class Kind : std::uint8_t {
  eager = 1,           ///< A message with its data.
  request = 2,         ///< Announces a message whose data waits on the sender; `operation` names it there.
  active = 3,          ///< An active message with its data; `tag` is the handler.
  active_request = 4,  ///< Announces an active message whose data waits on the sender.
  ready = 5,           ///< The receiver of the announced `operation` has posted bulk slot `slot`.
  refused = 6,         ///< The receiver of the announced `operation` does not want its data.
  credit = 7,          ///< Nothing but the credits in the header.
  eager_off = 8,       ///< From now on announce only: memory for unexpected data is used up.
  eager_on = 9,
  failed = 10,  ///< The sender gives up the run; the data is the sentence.
};

[[nodiscard]] constexpr bool is_sequenced(Kind kind) noexcept {
  return kind <= Kind::active_request;
}

/// The first bytes of each packet, little-endian as the machines are; data follows.
struct Header {
  Kind kind = Kind::credit;
  std::uint8_t version = 1;
  std::uint16_t credits = 0;  ///< Packets that the receiver may send on top.
  std::uint32_t comm = 0;
  std::uint32_t sequence = 0;  ///< Within (source, destination, communicator).
  std::uint32_t slot = 0;
  std::uint64_t tag = 0;
  std::uint64_t bytes = 0;  ///< Length of the message, not of the packet.
  std::uint64_t operation = 0;
};
static_assert(sizeof(Header) == 40 && std::is_trivially_copyable_v<Header>);

}  // namespace plait::comm::wire
