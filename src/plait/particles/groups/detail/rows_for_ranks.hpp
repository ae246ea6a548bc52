// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "plait/comm/collectives/all_to_all.hpp"
#include "plait/comm/collectives/group.hpp"

namespace plait::particles::detail {

/// Sends `to[i]` to member i, and returns what each member sent here, in the order of members. Collective; waits.
template <class T>
  requires std::is_trivially_copyable_v<T>
[[nodiscard]] std::vector<std::vector<T>> exchange_rows(const comm::Group& group,
                                                        const std::vector<std::vector<T>>& to) {
  std::vector<std::uint64_t> counts_out;
  for (const std::vector<T>& rows : to) {
    counts_out.push_back(rows.size());
  }
  std::vector<std::uint64_t> counts_in(to.size());
  comm::all_to_all(group, std::span<const std::uint64_t>{counts_out}, std::span{counts_in}).wait();
  std::vector<std::vector<T>> from(to.size());
  comm::BlocksToSend blocks_out;
  comm::BlocksToReceive blocks_in;
  for (std::size_t i = 0; i < to.size(); ++i) {
    from[i].resize(counts_in[i]);
    blocks_out.push_back(std::as_bytes(std::span{to[i]}));
    blocks_in.push_back(std::as_writable_bytes(std::span{from[i]}));
  }
  comm::all_to_all(group, blocks_out, blocks_in).wait();
  return from;
}

}  // namespace plait::particles::detail
