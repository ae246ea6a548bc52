// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/comm/endpoint.hpp"

namespace plait {

// What a program needs all ranks for at its start and end. Every rank calls the same functions in the same order; each
// waits, making progress. Simple exchanges with one rank: for few ranks or few calls. Throw as
// `Endpoint::progress_until`.

/// On `root`, the bytes of every rank, in order of ranks; elsewhere nothing.
std::vector<Bytes> gather(comm::Endpoint& endpoint, Rank root, std::span<const std::byte> mine);

/// The bytes of `root`, on every rank.
Bytes broadcast(comm::Endpoint& endpoint, Rank root, std::span<const std::byte> on_root);

/// The bytes of every rank, on every rank, in order of ranks.
std::vector<Bytes> all_gather(comm::Endpoint& endpoint, std::span<const std::byte> mine);

/// Returns when every rank has called it.
void barrier(comm::Endpoint& endpoint);

}  // namespace plait
