// SPDX-License-Identifier: Apache-2.0
#include "plait/net/transfer_options.hpp"

#include <algorithm>
#include <climits>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait::net {

DriverTraits TransferOptions::traits(const char* driver, Rank self, std::uint32_t rank_count) const {
  constexpr std::uint32_t slots_max = 32767;
  constexpr std::size_t message_bytes_min = 512;
  const auto require = [driver](bool fact, const char* sentence) {
    if (!fact) {
      throw Error{ErrorCode::bad_argument, fmt::format("{} driver: {}", driver, sentence)};
    }
  };
  require(packet_bytes_max >= 1024 && packet_bytes_max <= INT_MAX,
          "packet_bytes_max must be at least 1024 bytes and below 2 GiB");
  require(copied_bytes_max == 0 || copied_bytes_max >= packet_bytes_max, "copied_bytes_max is at least a packet");
  require(message_bytes_max == 0 || (message_bytes_max >= message_bytes_min && message_bytes_max <= INT_MAX),
          "message_bytes_max must be at least 512 bytes and below 2 GiB");
  require(receives_posted > 0 && sends_in_flight_max > 0 && bulk_sends_max > 0 && bulk_chunks_in_flight > 0,
          "no number of receives, sends or chunks can be 0");
  require(bulk_slot_count > 0 && bulk_slot_count <= slots_max, "bulk_slot_count must be between 1 and 32767");
  require(bulk_chunk_bytes > 0 && bulk_chunk_bytes <= INT_MAX,
          "bulk_chunk_bytes must be at least 1 byte and below 2 GiB");
  const std::size_t largest = std::max(packet_bytes_max, copied_bytes_max);
  require(message_bytes_max == 0 || largest <= message_bytes_max * sends_in_flight_max,
          "sends_in_flight_max must be enough for all messages of what is sent at once");
  const std::size_t share = unexpected_bytes_max / (std::size_t{rank_count} * largest);
  return {.name = driver,
          .self = self,
          .rank_count = rank_count,
          .packet_bytes_max = packet_bytes_max,
          .packets_in_flight_max = static_cast<std::uint32_t>(std::clamp<std::size_t>(share, 2, 32)),
          .bulk_slot_count = bulk_slot_count,
          .bulk_in_flight_max = bulk_in_flight_max};
}

}  // namespace plait::net
