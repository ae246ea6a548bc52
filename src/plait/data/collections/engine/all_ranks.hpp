// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/comm/collectives/group.hpp"
#include "plait/comm/request.hpp"

namespace plait::data::detail {

// Exchanges among all members of a group; collective, they wait, making progress, and when they return no member needs
// this one's progress: the program may block elsewhere. Throw as `Endpoint::progress_until`.

/// Waits for a collective operation of the group.
void settle(const comm::Group& group, comm::Request operation);

/// The bytes of every member, of any sizes, on every member.
std::vector<Bytes> all_gather_any(const comm::Group& group, std::span<const std::byte> mine);

/// The bytes of every member on `root`; elsewhere nothing.
std::vector<Bytes> gather_any(const comm::Group& group, std::size_t root, std::span<const std::byte> mine);

/// `to[i]` for member i: what each has for this one.
std::vector<Bytes> exchange_any(const comm::Group& group, std::span<const Bytes> to);

/// The bytes of member 0 on every member.
Bytes broadcast_any(const comm::Group& group, std::span<const std::byte> on_first);

}  // namespace plait::data::detail
