// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/comm/collectives/group.hpp"

namespace plait::data::detail {

// Exchanges among all members of a group; collective, they wait, making progress. Throw as `Endpoint::progress_until`.

/// The bytes of every member, of any sizes, on every member.
std::vector<Bytes> all_gather_any(const comm::Group& group, std::span<const std::byte> mine);

/// The bytes of member 0 on every member.
Bytes broadcast_any(const comm::Group& group, std::span<const std::byte> on_first);

/// Does `work` here; throws on every member what the lowest met, when any met something. `work` must wait for nobody.
void agree(const comm::Group& group, const std::function<void()>& work);

}  // namespace plait::data::detail
