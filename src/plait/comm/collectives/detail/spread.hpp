// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "plait/comm/collectives/detail/call.hpp"
#include "plait/comm/request.hpp"

namespace plait::comm::detail {

/// Copies the `data` of member `root` of the call to its other members, along a tree that passes through members that
/// have not called it yet (`Endpoint::multicast`). If the root's call has failed, a message of another size replaces
/// the data.
///
/// Complete when the data has arrived and is forwarded: then it may be written. A member that expects another size ends
/// with an error. Throws nothing.
[[nodiscard]] Request spread(Call call, std::size_t root, std::span<std::byte> data, unsigned phase = 0);

}  // namespace plait::comm::detail
