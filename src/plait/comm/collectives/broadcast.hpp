// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "plait/comm/collectives/group.hpp"
#include "plait/comm/request.hpp"

namespace plait::comm {

enum class BroadcastWay : std::uint8_t {
  automatic,  ///< `multicast`, and `pipelined` where it moves long data in less time; see `choose_broadcast`.
  multicast,  ///< `Endpoint::multicast`: along a binomial tree; ranks that have not called yet forward it, too.
  pipelined,  ///< In pieces from member to member: for long data its time hardly depends on the size of the group.
};

struct BroadcastOptions {
  BroadcastWay way = BroadcastWay::automatic;
  std::size_t piece_bytes = std::size_t{256} << 10U;  ///< Of `pipelined`: at least 1; the same on all members.
};

/// Brings the `data` of member `root` into that of every other member. Non-blocking: complete when it is here and this
/// rank's part in passing it on is done, so that `data` may be written again.
///
/// All members must give the same size, root and options. A member whose `data` has another size ends with an error
/// (`truncated`, or `bad_argument` when less came); what it passes on then is wrong, and ends so for its receivers.
/// Throws: `Error` with `bad_argument` when `root` is no member or a piece is empty. Cost: ceil(log2(size)) messages
/// at most of `data`, sent one after the other; of `pipelined`, one.
Request broadcast(const Group& group,
                  std::size_t root,
                  std::span<std::byte> data,
                  const BroadcastOptions& options = {});

template <class T, std::size_t extent>
  requires std::is_trivially_copyable_v<T>
Request broadcast(const Group& group,
                  std::size_t root,
                  std::span<T, extent> data,
                  const BroadcastOptions& options = {}) {
  return broadcast(group, root, std::span<std::byte>{std::as_writable_bytes(data)}, options);
}

/// What `automatic` becomes. Pipelined data passes `members` in bytes + (members - 2) pieces, a tree's in
/// ceil(log2(members)) times the bytes, at one time a byte (LogGP's G): the lesser is taken, of 8 pieces at least.
[[nodiscard]] BroadcastWay choose_broadcast(std::size_t members, std::size_t bytes, std::size_t piece_bytes) noexcept;

}  // namespace plait::comm
