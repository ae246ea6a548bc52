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

enum class AllGatherWay : std::uint8_t {
  automatic,  ///< By node where that sends less, else by the total size of the blocks; see `choose_all_gather`.
  ring,       ///< From member to member, in size - 1 rounds.
  doubling,   ///< In ceil(log2(size)) rounds of twice as many blocks each, without copies (Bruck).
  by_node,    ///< Members of one node to one of them, which exchange the blocks of whole nodes, and spread all. Blocks
              ///< that are not contiguous in the order of members are copied. As `automatic` without nodes.
};

/// Gathers the block of every member on every member: `all[i]` receives `mine` of member i, and must have its size.
/// Blocks may be empty and of different sizes. All members must give the same sizes and way.
///
/// Non-blocking: memory must stay until complete. In place when `mine` is `all[self]`; otherwise they must not overlap.
/// A block of another size ends in an error (`truncated` or `bad_argument`), here and on the members that it is passed
/// to. Throws: `Error` with `bad_argument` when `all` has not one block for each member, or `all[self]` differs from
/// `mine` in size.
Request all_gather(const Group& group,
                   std::span<const std::byte> mine,
                   std::vector<std::span<std::byte>> all,
                   AllGatherWay way = AllGatherWay::automatic);

/// As above, with blocks of the size of `mine`, contiguous in `all` in the order of members.
Request all_gather(const Group& group,
                   std::span<const std::byte> mine,
                   std::span<std::byte> all,
                   AllGatherWay way = AllGatherWay::automatic);

template <class T>
  requires std::is_trivially_copyable_v<T>
Request all_gather(const Group& group,
                   std::span<const T> mine,
                   std::span<T> all,
                   AllGatherWay way = AllGatherWay::automatic) {
  return all_gather(group, std::as_bytes(mine), std::as_writable_bytes(all), way);
}

/// The way that `automatic` selects without nodes, else among them, for blocks of `bytes` in total: `ring` from 512
/// KiB, the limit of Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH",
/// 2005, section 4.1.
[[nodiscard]] AllGatherWay choose_all_gather(std::size_t bytes) noexcept;

}  // namespace plait::comm
