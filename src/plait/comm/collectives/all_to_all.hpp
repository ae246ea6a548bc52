// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "plait/comm/collectives/group.hpp"
#include "plait/comm/request.hpp"

namespace plait::comm {

enum class AllToAllWay : std::uint8_t {
  automatic,  ///< By size of blocks and group; see `choose_all_to_all`.
  direct,     ///< All messages at once, from the next member on.
  pairwise,   ///< In rounds: to the member `round` places on, from the one `round` places back, then the next round.
};

/// The blocks in memory, one for each member; blocks may be empty, and anywhere without overlap.
using BlocksToSend = std::vector<std::span<const std::byte>>;
using BlocksToReceive = std::vector<std::span<std::byte>>;

/// `counts[i]` elements for each member i, one block after the other from the beginning of `data`.
/// Throws: `Error` with `bad_argument` when `data` has not as many elements as the counts together.
[[nodiscard]] BlocksToSend blocks_of(std::span<const std::byte> data,
                                     std::span<const std::size_t> counts,
                                     std::size_t element_bytes = 1);
[[nodiscard]] BlocksToReceive blocks_of(std::span<std::byte> data,
                                        std::span<const std::size_t> counts,
                                        std::size_t element_bytes = 1);

/// Sends each member its block of `to` and receives one from each into `from`; complete when all are there and all
/// of `to` may be reused. Non-blocking: memory must stay until then, nothing else need.
///
/// Block i of `from` must have the size of the block that member i sends here. If not, this rank's request ends with an
/// error (`truncated` when more came, `bad_argument` when less), and the others' complete. All members must ask for the
/// same way. `to` and `from` must not overlap. Throws: `Error` with `bad_argument` when there is not one block a
/// member, or this rank's own two differ in size; as `Endpoint::send`. Cost: size - 1 messages, each of one copy at
/// most, none when long.
Request all_to_all(const Group& group, BlocksToSend to, BlocksToReceive from, AllToAllWay way = AllToAllWay::automatic);

/// As above, with blocks of one size: `to` and `from` are cut into `group.size()` equal blocks, which they must have
/// the length for. The automatic way depends on the size of the blocks here, which is the same on all members.
Request all_to_all(const Group& group,
                   std::span<const std::byte> to,
                   std::span<std::byte> from,
                   AllToAllWay way = AllToAllWay::automatic);

template <class T>
  requires std::is_trivially_copyable_v<T>
Request all_to_all(const Group& group,
                   std::span<const T> to,
                   std::span<T> from,
                   AllToAllWay way = AllToAllWay::automatic) {
  return all_to_all(group, std::as_bytes(to), std::as_writable_bytes(from), way);
}

/// What `automatic` becomes for blocks of `block_bytes`; for blocks of different sizes, as for empty ones: `pairwise`
/// for more than 32 members (as many as MPICH has under way at once) with blocks above 32 KiB (the limit of Thakur,
/// Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH", 2005, section 4.3), else
/// `direct`.
[[nodiscard]] AllToAllWay choose_all_to_all(std::size_t members, std::size_t block_bytes) noexcept;

}  // namespace plait::comm
