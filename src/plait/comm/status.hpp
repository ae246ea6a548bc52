// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "plait/base/error.hpp"
#include "plait/base/id.hpp"

namespace plait::comm {

/// A space of messages of its own: tags and orders of different communicators never meet.
using CommId = Id<struct CommTag>;

/// The communicator of the program's messages, unless it says otherwise.
inline constexpr CommId world{0};
/// Reserved for plait's own messages, with all after it, each of which has one user: 0 and 1 the runtime's exchanges,
/// 2 and 3 the check of partners, 4 and 5 the bins of boundaries, 6 checkpoints, 7 buddy copies, 12 to 14 lenders.
inline constexpr CommId internal{0xffff'fff0};
[[nodiscard]] constexpr bool is_internal(CommId comm) noexcept {
  return comm >= internal;
}

/// What came of an operation. For sends `source` is this rank.
struct Status {
  Rank source;
  Tag tag;
  std::size_t bytes = 0;           ///< Length of the message, also when it was truncated.
  std::uint32_t sequence = 0;      ///< Number of the message within (source, destination, communicator).
  std::optional<ErrorCode> error;  ///< Nothing when all went well.
};

}  // namespace plait::comm
