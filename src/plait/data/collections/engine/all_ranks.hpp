// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/comm/collectives/group.hpp"
#include "plait/comm/request.hpp"

namespace plait::data::detail {

// Collective exchanges among all members of a group. They wait, making progress. Afterwards no member needs progress of
// this one, and the program may block elsewhere. Throw: as `Endpoint::progress_until`.

/// Waits for an operation of the group.
void settle(const comm::Group& group, comm::Request operation);

/// Returns the bytes of every member, of any sizes, on every member.
std::vector<Bytes> all_gather_any(const comm::Group& group, std::span<const std::byte> mine);

/// Returns the bytes of every member on `root`, and nothing elsewhere.
std::vector<Bytes> gather_any(const comm::Group& group, std::size_t root, std::span<const std::byte> mine);

/// Sends `to[i]` to member i. Returns what each member has sent to this one.
std::vector<Bytes> exchange_any(const comm::Group& group, std::span<const Bytes> to);

/// Returns the bytes of member 0 on every member.
Bytes broadcast_any(const comm::Group& group, std::span<const std::byte> on_first);

}  // namespace plait::data::detail
