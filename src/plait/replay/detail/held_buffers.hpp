// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plait/replay/schedule.hpp"

namespace plait::replay::detail {

/// Buffers of one size that are in use at the same time.
struct HeldBuffers {
  bool is_sent = false;     ///< Of sends; else of receives.
  std::uint64_t bytes = 0;  ///< A power of two.
  std::size_t count = 0;

  friend bool operator==(const HeldBuffers&, const HeldBuffers&) = default;
};

/// Returns how many buffers of each size the messages of a stream hold at most, from their begin until a wait for them
/// in this order. Those that are never waited for are held to the end. Receives come first, then sends, each by size.
/// Cost: linear in operations and waits.
[[nodiscard]] std::vector<HeldBuffers> held_buffers(const Stream& stream);

}  // namespace plait::replay::detail
