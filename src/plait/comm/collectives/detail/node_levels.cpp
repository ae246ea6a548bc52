// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/collectives/detail/node_levels.hpp"

#include <algorithm>

namespace plait::comm::detail {

NodeLevels::NodeLevels(const Call& call, std::size_t root) {
  expect(call.nodes() != nullptr, "levels are those of a group that spans nodes");
  nodes_ = call.nodes()->members;
  own_ = call.nodes()->own;
  const auto of_root =
      std::ranges::find_if(nodes_, [&](const auto& node) { return std::ranges::binary_search(node, root); });
  const auto place = static_cast<std::size_t>(of_root - nodes_.begin());
  std::rotate(nodes_.begin(), of_root, nodes_.end());
  own_ = (own_ + nodes_.size() - place) % nodes_.size();
  std::vector<std::size_t>& first = nodes_.front();
  std::ranges::rotate(first, std::ranges::find(first, root));
  self_here_ = static_cast<std::size_t>(std::ranges::find(nodes_[own_], call.self()) - nodes_[own_].begin());
}

std::vector<std::size_t> order_by_node(const Call& call, std::size_t root) {
  std::vector<std::size_t> order;
  if (call.nodes() == nullptr) {
    for (std::size_t place = 0; place < call.size(); ++place) {
      order.push_back((root + place) % call.size());
    }
    return order;
  }
  const NodeLevels levels{call, root};
  for (const std::vector<std::size_t>& node : levels.nodes()) {
    order.insert(order.end(), node.begin(), node.end());
  }
  return order;
}

}  // namespace plait::comm::detail
