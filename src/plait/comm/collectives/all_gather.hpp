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
  automatic,  ///< By what all blocks have together; see `choose_all_gather`.
  ring,       ///< From member to member: size - 1 rounds, every block crosses every link once.
  doubling,   ///< In ceil(log2(size)) rounds, each of twice as many blocks, without copying them together (Bruck).
};

/// Brings the block of every member to every member: `all[i]` takes that of member i, and on member i must have the
/// size of `mine`. Blocks may be empty and of different sizes, which all members must give alike, as the way.
///
/// Non-blocking: memory must stay until complete. In place when `mine` is `all[self]` already; else they must not
/// overlap. A block of another size than expected ends in an error here (`truncated` or `bad_argument`) and, as
/// what is passed on then is empty, on those behind. Throws: `Error` with `bad_argument` when there is not one block a
/// member or the own block differs in size. Cost: each block comes once.
Request all_gather(const Group& group,
                   std::span<const std::byte> mine,
                   std::vector<std::span<std::byte>> all,
                   AllGatherWay way = AllGatherWay::automatic);

/// As above, with blocks of one size, that of `mine`, contiguous in `all` in the order of members.
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

/// What `automatic` becomes for blocks of `bytes` together: `ring` from 512 KiB on, the limit of Thakur, Rabenseifner
/// and Gropp, "Optimization of collective communication operations in MPICH", 2005, section 4.1.
[[nodiscard]] AllGatherWay choose_all_gather(std::size_t bytes) noexcept;

}  // namespace plait::comm
