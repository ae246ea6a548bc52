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
  automatic,  ///< The faster one; see `choose_broadcast`.
  multicast,  ///< Along a binomial tree (`Endpoint::multicast`), also through ranks that have not called it yet.
  pipelined,  ///< In pieces from member to member: the time for large data hardly depends on the size of the group.
};

struct BroadcastOptions {
  BroadcastWay way = BroadcastWay::automatic;
  std::size_t piece_bytes = std::size_t{256} << 10U;  ///< Of `pipelined`: at least 1; the same on all members.
};

/// Copies the `data` of member `root` to every other member. Non-blocking: complete when `data` has arrived, is
/// forwarded, and may be written.
///
/// All members must give the same size, root and options. A member whose `data` has another size ends with an error
/// (`truncated`, or `bad_argument` when it is too large), and so do the members that it forwards to. Throws: `Error`
/// with `bad_argument` when `root` is no member or `piece_bytes` is 0. Cost: at most ceil(log2(size)) messages of
/// `data`; of `pipelined`, one.
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

/// The way that `automatic` selects. A pipeline takes the time of bytes + (members - 2) pieces, a tree that of
/// ceil(log2(members)) times the bytes, each at LogGP's G: the smaller one, with a pipeline from 8 pieces on.
[[nodiscard]] BroadcastWay choose_broadcast(std::size_t members, std::size_t bytes, std::size_t piece_bytes) noexcept;

}  // namespace plait::comm
