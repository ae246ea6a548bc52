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
  automatic,  ///< By the size of blocks and group; see `choose_all_to_all`.
  direct,     ///< All messages at once, beginning with the next member.
  pairwise,   ///< In rounds: in round i, to the member i places ahead and from the one i places behind.
};

/// One block of memory for each member. Blocks may be empty, and must not overlap.
using BlocksToSend = std::vector<std::span<const std::byte>>;
using BlocksToReceive = std::vector<std::span<std::byte>>;

/// Divides `data` into contiguous blocks of `counts[i]` elements. Throws: `Error` with `bad_argument` when `data` has
/// not the sum of the counts.
[[nodiscard]] BlocksToSend blocks_of(std::span<const std::byte> data,
                                     std::span<const std::size_t> counts,
                                     std::size_t element_bytes = 1);
[[nodiscard]] BlocksToReceive blocks_of(std::span<std::byte> data,
                                        std::span<const std::size_t> counts,
                                        std::size_t element_bytes = 1);

/// Sends block i of `to` to member i, and receives block i of `from` from it.
///
/// Non-blocking: memory must stay until complete. Block i of `from` must have the size of the block that member i sends
/// here. Otherwise this rank's request ends with an error (`truncated` for a larger one, `bad_argument` for a smaller
/// one), and the others' complete. All members must use the same way. `to` and `from` must not overlap. Throws: `Error`
/// with `bad_argument` when there is not one block for each member, or this rank's own two differ in size; as
/// `Endpoint::send`. Cost: size - 1 messages.
Request all_to_all(const Group& group, BlocksToSend to, BlocksToReceive from, AllToAllWay way = AllToAllWay::automatic);

/// As above, with `to` and `from` divided into `group.size()` equal blocks, by whose size the automatic way is
/// selected.
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

/// The way that `automatic` selects: `pairwise` for more than 32 members (as many as MPICH has in flight) with equal
/// blocks above 32 KiB (the limit of Thakur, Rabenseifner and Gropp, "Optimization of collective communication
/// operations in MPICH", 2005, section 4.3), else `direct`.
[[nodiscard]] AllToAllWay choose_all_to_all(std::size_t members, std::size_t block_bytes) noexcept;

}  // namespace plait::comm
