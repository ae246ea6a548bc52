// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/nodes.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/comm/detail/core.hpp"
#include "plait/comm/endpoint.hpp"

namespace plait::comm {

void Nodes::set(Endpoint& endpoint, std::vector<std::uint32_t> of_ranks) {
  if (!of_ranks.empty() && of_ranks.size() != endpoint.rank_count()) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("nodes of {} ranks were given for a run of {}: give one number for each rank",
                            of_ranks.size(),
                            endpoint.rank_count())};
  }
  if (std::ranges::any_of(of_ranks, [&](std::uint32_t node) { return node >= endpoint.rank_count(); })) {
    throw Error{
        ErrorCode::bad_argument,
        fmt::format(
            "node {} of a run of {} ranks: number nodes from 0", std::ranges::max(of_ranks), endpoint.rank_count())};
  }
  endpoint.nodes_ = of_ranks;
  std::vector<std::uint32_t> different = of_ranks;
  std::ranges::sort(different);
  different.erase(std::ranges::unique(different).begin(), different.end());
  if (different.size() <= 1 || different.size() == of_ranks.size()) {
    of_ranks.clear();  // the tree would be the same
  }
  endpoint.core_->act([&](detail::Engine& engine) { engine.multicast().set_nodes(std::move(of_ranks)); });
}

const std::vector<std::uint32_t>& Nodes::of(const Endpoint& endpoint) noexcept {
  return endpoint.nodes_;
}

}  // namespace plait::comm
