// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/comm/endpoint.hpp"

namespace plait {

// Blocking collectives for the start and the end of a program. Every rank calls the same functions in the same order;
// each call makes progress while it waits. Cost: a number of messages that grows as the logarithm of the ranks.
// Throw as `Endpoint::progress_until`.

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

/// Returns after every rank has called it.
void barrier(comm::Endpoint& endpoint);

}  // namespace plait
