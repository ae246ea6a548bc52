// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "plait/base/error.hpp"
#include "plait/base/id.hpp"

namespace plait::comm {

/// A communicator. Messages of different communicators neither match nor order each other.
using CommId = Id<struct CommTag>;

/// The default communicator of the program, which may choose any id below `first_claimed_comm`.
inline constexpr CommId world{0};
/// `Endpoint::claim_comms` assigns the ids from here up to `collective_bit`.
inline constexpr CommId first_claimed_comm{0x4000'0000};
/// Distinguishes the messages of a group's collective operations from the program's in the same communicator.
inline constexpr std::uint32_t collective_bit = 0x8000'0000U;
/// The communicator of puts and gets in statuses and traces.
inline constexpr CommId one_sided{0x7fff'fff0};
/// plait's own: active messages, and exchanges of the runtime at its start and end.
inline constexpr CommId internal{0xffff'fff0};
/// The collective operations of the runtime, and all ids above, which are reserved.
inline constexpr CommId internal_collectives{0xffff'fff1};
[[nodiscard]] constexpr bool is_internal(CommId comm) noexcept {
  return comm >= internal;
}

/// The result of an operation. For sends `source` is this rank.
struct Status {
  Rank source;
  Tag tag;
  std::size_t bytes = 0;           ///< Length of the message, also when truncated.
  std::uint32_t sequence = 0;      ///< Number of the message within (source, destination, communicator).
  std::optional<ErrorCode> error;  ///< Nothing on success.
};

}  // namespace plait::comm
