// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <span>
#include <type_traits>
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

/// The value of every rank, on every rank, in order of ranks.
template <class T>
  requires std::is_trivially_copyable_v<T>
std::vector<T> all_gather_values(comm::Endpoint& endpoint, const T& mine) {
  std::vector<T> all;
  for (const Bytes& bytes : all_gather(endpoint, std::as_bytes(std::span{&mine, 1}))) {
    std::memcpy(&all.emplace_back(), bytes.data(), sizeof mine);
  }
  return all;
}

/// Returns when every rank has called it.
void barrier(comm::Endpoint& endpoint);

}  // namespace plait
