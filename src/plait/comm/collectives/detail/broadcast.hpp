// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "plait/comm/collectives/detail/call.hpp"

namespace plait::comm::detail {

/// A broadcast whose arguments are checked.
struct Broadcast {
  Call call;
  std::size_t root = 0;
  std::span<std::byte> data;
  std::size_t piece_bytes = 1;

  /// This rank's place when they are counted from the root, and back.
  [[nodiscard]] std::size_t place() const noexcept { return (call.self() + call.size() - root) % call.size(); }
  [[nodiscard]] std::size_t member(std::size_t at_place) const noexcept { return (at_place + root) % call.size(); }
};

// The ways, one a file.
Request binomial_broadcast(Broadcast broadcast);
Request multicast_broadcast(Broadcast broadcast);
Request pipelined_broadcast(Broadcast broadcast);

}  // namespace plait::comm::detail
