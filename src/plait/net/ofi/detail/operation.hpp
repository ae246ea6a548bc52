// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <rdma/fabric.h>

#include "plait/base/id.hpp"

namespace plait::net::detail::ofi {

/// The context of an operation, which libfabric returns with its completion. It must not move while the operation is in
/// flight.
struct Operation {
  enum class Kind : std::uint8_t { receive, send, chunk };

  fi_context2 context{};
  Kind kind = Kind::receive;
  Rank peer;              ///< Of a send or a chunk.
  std::size_t index = 0;  ///< Among the operations of its kind.
};

static_assert(offsetof(Operation, context) == 0, "what libfabric hands back is the operation");

/// The purpose of a message. It is sent with the sender's rank in the 32 bits of remote completion data.
enum class Purpose : std::uint8_t {
  packet,   ///< For the user of the driver.
  ready,    ///< Where bulk data may be written.
  goodbye,  ///< The sender's driver ends; nothing follows.
  greeting  ///< Only to see whether it can be sent.
};

inline constexpr std::uint32_t ranks_max = std::uint32_t{1} << 30U;

struct Label {
  Purpose purpose = Purpose::packet;
  Rank from;
};
[[nodiscard]] constexpr std::uint64_t encode(Label label) noexcept {
  return static_cast<std::uint64_t>(label.purpose) << 30U | label.from.value();
}
[[nodiscard]] constexpr Label decode(std::uint64_t word) noexcept {
  return {static_cast<Purpose>(word >> 30U & 3U), Rank{static_cast<std::uint32_t>(word & (ranks_max - 1))}};
}

}  // namespace plait::net::detail::ofi
