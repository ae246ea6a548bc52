// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "plait/comm/collectives/group.hpp"
#include "plait/comm/request.hpp"

namespace plait::comm {

/// How an all-to-all goes about it. Adding one is one file in detail/ and one line in all_to_all.cpp.
enum class AllToAllWay : std::uint8_t {
  automatic,  ///< By size of blocks and group; see `choose_all_to_all`.
  direct,     ///< All at once, beginning with the next member.
  pairwise,   ///< In rounds: to the member `round` places on, from the one `round` places back, then the next round.
  random,     ///< In an order of each rank's own, a bounded number of sends at once.
  chunked,    ///< In pieces of bounded size, a bounded number at once.
  two_level,  ///< Blocks for one node travel together: fewer, longer messages between nodes, three instead of one.
};

struct AllToAllOptions {
  AllToAllWay way = AllToAllWay::automatic;
  /// Told of each member whose block may be read, as it comes, this rank's own included; not of one that came wrong.
  /// Called by whichever thread makes progress, perhaps by several at once, with no lock held: must be short, must not
  /// wait, may start tasks and operations. An exception ends the operation with `user_task`, after its last message.
  std::function<void(std::size_t member)> on_block;
  std::size_t piece_bytes = std::size_t{256} << 10U;  ///< Of `chunked`: at least 1; the same on all members.
  std::uint32_t in_flight_max = 8;                    ///< Of `random` and `chunked`: sends, and receives, at once.
  std::uint64_t seed = 1;                             ///< Of `random`: draws the orders.
};

/// Where the blocks stand in memory, one a member; blocks may be empty, and stand anywhere without overlap.
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
/// error (`truncated` when more came, `bad_argument` when less; with `two_level` always `bad_argument`), and the
/// others' complete. All members must ask for the same way. `to` and `from` must not overlap. Throws: `Error` with
/// `bad_argument` when there is not one block a member, or this rank's own two differ in size; as `Endpoint::send`.
/// Cost: `direct`, `pairwise`, `random`: size - 1 messages, each of one copy at most, none when long.
Request all_to_all(const Group& group, BlocksToSend to, BlocksToReceive from, const AllToAllOptions& options = {});

/// As above, with blocks of one size: `to` and `from` are cut into `group.size()` equal blocks, which they must have
/// the length for. The automatic way looks at the size of the blocks here, which is the same on all members.
Request all_to_all(const Group& group,
                   std::span<const std::byte> to,
                   std::span<std::byte> from,
                   const AllToAllOptions& options = {});

template <class T>
  requires std::is_trivially_copyable_v<T>
Request all_to_all(const Group& group, std::span<const T> to, std::span<T> from, const AllToAllOptions& options = {}) {
  return all_to_all(group, std::as_bytes(to), std::as_writable_bytes(from), options);
}

/// What `automatic` becomes for blocks of `block_bytes`; for blocks of different sizes, as for empty ones: `pairwise`
/// for more than 32 members (as many as MPICH has under way at once) with blocks above 32 KiB (the limit of Thakur,
/// Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH", 2005, section 4.3), else
/// `direct`. The other ways are chosen by the program alone, which knows its network.
[[nodiscard]] AllToAllWay choose_all_to_all(std::size_t members, std::size_t block_bytes) noexcept;

/// All ways but `automatic`, and their names: "direct", "pairwise", ...
inline constexpr std::array all_to_all_ways{
    AllToAllWay::direct, AllToAllWay::pairwise, AllToAllWay::random, AllToAllWay::chunked, AllToAllWay::two_level};
[[nodiscard]] const char* to_string(AllToAllWay way) noexcept;
/// Throws: `Error` with `bad_argument` that lists the names, for any other.
[[nodiscard]] AllToAllWay all_to_all_way(std::string_view name);

}  // namespace plait::comm
