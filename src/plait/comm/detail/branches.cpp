// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/detail/branches.hpp"

#include <algorithm>
#include <iterator>
#include <map>

namespace plait::comm::detail {

namespace {

using Stops = std::vector<wire::Stop>;

/// Stops by node: the nodes in the order of their first stops, and the stops of each.
class StopsOfNodes {
 public:
  void add(std::uint32_t node, const wire::Stop& stop) {
    Stops& stops = stops_[node];
    if (stops.empty()) {
      leaders_.push_back(stop);
      node_of_leader_[stop.rank] = node;
    }
    stops.push_back(stop);
  }
  [[nodiscard]] const Stops& leaders() const noexcept { return leaders_; }
  /// Appends the stops of the leader's node, without the leader.
  void append_rest(const wire::Stop& leader, Stops& stops) const {
    const Stops& all = stops_.at(node_of_leader_.at(leader.rank));
    stops.insert(stops.end(), all.begin() + 1, all.end());
  }

 private:
  Stops leaders_;
  std::map<std::uint32_t, std::uint32_t> node_of_leader_;  ///< By rank.
  std::map<std::uint32_t, Stops> stops_;
};

}  // namespace

std::vector<Branch> branches(std::span<const wire::Stop> stops, std::size_t stops_max) {
  std::vector<std::size_t> rooms;  // how many stops each branch still takes
  for (std::size_t left = stops.size(); left > 0;) {
    const std::size_t size = std::min((left + 1) / 2, stops_max + 1);
    rooms.push_back(size - 1);
    left -= size;
  }
  std::vector<Branch> all(rooms.size());
  for (std::size_t index = 0; index < all.size(); ++index) {
    all[index].to = stops[index];
    all[index].stops.reserve(rooms[index]);
  }
  std::size_t index = 0;
  for (const wire::Stop& stop : stops.subspan(all.size())) {
    while (all[index].stops.size() == rooms[index]) {
      index = (index + 1) % all.size();
    }
    all[index].stops.push_back(stop);
    index = (index + 1) % all.size();
  }
  return all;
}

std::vector<Branch> branches_by_node(std::span<const wire::Stop> stops,
                                     std::size_t stops_max,
                                     std::span<const std::uint32_t> nodes,
                                     Rank self) {
  StopsOfNodes others;
  Stops here;
  for (const wire::Stop& stop : stops) {
    const std::uint32_t node = nodes[stop.rank];
    if (node == nodes[self.value()]) {
      here.push_back(stop);
    } else {
      others.add(node, stop);
    }
  }
  std::vector<Branch> all;
  Stops excess;  // what does not fit into the packets of the branches
  for (const Branch& of_nodes : branches(others.leaders(), stops.size())) {
    Branch& branch = all.emplace_back(Branch{of_nodes.to, {}});
    others.append_rest(of_nodes.to, branch.stops);
    for (const wire::Stop& leader : of_nodes.stops) {
      branch.stops.push_back(leader);
      others.append_rest(leader, branch.stops);
    }
    if (branch.stops.size() > stops_max) {
      const auto end = branch.stops.begin() + static_cast<std::ptrdiff_t>(stops_max);
      excess.insert(excess.end(), end, branch.stops.end());
      branch.stops.erase(end, branch.stops.end());
    }
  }
  if (!excess.empty()) {
    std::ranges::move(branches_by_node(excess, stops_max, nodes, self), std::back_inserter(all));
  }
  std::ranges::move(branches(here, stops_max), std::back_inserter(all));
  return all;
}

}  // namespace plait::comm::detail
