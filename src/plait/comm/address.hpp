// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "plait/base/id.hpp"
#include "plait/comm/status.hpp"

namespace plait::comm {

/// The destination of a message, or its expected source, of which rank and tag may be wildcards.
struct Address {
  Rank rank;
  Tag tag;
  CommId comm = world;
};

/// The argument of a handler; `payload` is valid during the call only.
struct ActiveMessage {
  Rank source;
  std::span<const std::byte> payload;
};
using Handler = std::function<void(const ActiveMessage&)>;
using HandlerId = Id<struct HandlerTag>;

}  // namespace plait::comm
