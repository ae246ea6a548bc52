// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "plait/base/id.hpp"
#include "plait/comm/status.hpp"

namespace plait::comm {

/// Where a message goes to, or is expected from (there source and tag may be wild).
struct Address {
  Rank rank;
  Tag tag;
  CommId comm = world;
};

/// What an active message's handler is given; `payload` is valid during the call only.
struct ActiveMessage {
  Rank source;
  std::span<const std::byte> payload;
};
using Handler = std::function<void(const ActiveMessage&)>;
using HandlerId = Id<struct HandlerTag>;

}  // namespace plait::comm
