// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "plait/comm/collectives/detail/call.hpp"

namespace plait::comm::detail {

/// A collective on two levels: the members of each node with a leader, and the leaders among one another. Then each
/// node sends and receives by one member only.
class NodeLevels {
 public:
  /// The root leads its node, which is the first one. Expects: the call's group has nodes.
  NodeLevels(const Call& call, std::size_t root);

  [[nodiscard]] bool is_leader() const noexcept { return self_here_ == 0; }
  /// Of all nodes, in the order of `among`; the leader first.
  [[nodiscard]] const std::vector<std::vector<std::size_t>>& nodes() const noexcept { return nodes_; }

  /// This member's node.
  [[nodiscard]] const std::vector<std::size_t>& own_node() const { return nodes_[own_]; }

  /// Returns a copy of `call`, or of a class that adds data to it, for the members of this node; the leader is member
  /// 0.
  template <class Kind>
  [[nodiscard]] Kind within(Kind call) const {
    call.restrict_to(nodes_[own_], self_here_, part_within);
    return call;
  }
  /// As `within`, for the leaders; that of the root's node is member 0. Expects: this member is one.
  template <class Kind>
  [[nodiscard]] Kind among(Kind call) const {
    expect(is_leader(), "one member of a node exchanges with other nodes");
    std::vector<std::size_t> leaders;
    for (const std::vector<std::size_t>& node : nodes_) {
      leaders.push_back(node.front());
    }
    call.restrict_to(std::move(leaders), own_, part_among);
    return call;
  }

 private:
  static constexpr unsigned part_within = 1;
  static constexpr unsigned part_among = 2;

  std::vector<std::vector<std::size_t>> nodes_;
  std::size_t own_ = 0;
  std::size_t self_here_ = 0;
};

/// The members in an order in which those of a node are consecutive: the root first, then its node. Without nodes, as
/// they are from the root on.
[[nodiscard]] std::vector<std::size_t> order_by_node(const Call& call, std::size_t root);

}  // namespace plait::comm::detail
