// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "plait/replay/predict/platform.hpp"

namespace plait::replay {

/// The links between hosts, all of one direction, and the routes of messages.
///
/// Links are numbered from 0: the links out of each host, those into each host, those between switches or routers.
/// Routes are static, and computed when needed.
class Topology {
 public:
  /// Expects: settings that `parse_platform` accepts, and no more hosts than they have.
  Topology(const TopologySettings& settings, const LinkCosts& between_hosts, std::uint32_t hosts);

  [[nodiscard]] std::uint32_t host_count() const noexcept { return hosts_; }
  [[nodiscard]] std::uint32_t link_count() const noexcept { return link_count_; }
  /// The number of links of the longest route.
  [[nodiscard]] std::uint32_t route_max() const noexcept { return route_max_; }
  /// In bytes a nanosecond.
  [[nodiscard]] double capacity(std::uint32_t link) const noexcept;

  /// Appends the links from one host to another, in order. Expects: two different hosts.
  void route(std::uint32_t from, std::uint32_t to, std::vector<std::uint32_t>& links) const;

  /// The latency that links between switches add to L. Cost: computes the route. Expects: two different hosts.
  [[nodiscard]] double latency_ns(std::uint32_t from, std::uint32_t to) const;

 private:
  [[nodiscard]] bool is_global(std::uint32_t link) const noexcept {
    return settings_.shape == TopologyShape::dragonfly && link >= global_begin_;
  }
  void route_fat_tree(std::uint32_t from, std::uint32_t to, std::vector<std::uint32_t>& links) const;
  void route_dragonfly(std::uint32_t from, std::uint32_t to, std::vector<std::uint32_t>& links) const;
  void route_torus(std::uint32_t from, std::uint32_t to, std::vector<std::uint32_t>& links) const;
  /// The router of group `in` with the link to group `to`.
  [[nodiscard]] std::uint32_t gateway(std::uint32_t in, std::uint32_t to) const noexcept;
  [[nodiscard]] std::uint32_t common_level(std::uint32_t from, std::uint32_t to) const noexcept;

  TopologySettings settings_;
  double host_capacity_;
  std::uint32_t hosts_;
  std::uint32_t link_count_;
  std::uint32_t route_max_ = 2;
  std::uint32_t up_links_ = 1;              ///< Fat tree: links upwards of each switch.
  std::vector<std::uint32_t> level_begin_;  ///< Fat tree: first link of each level; links up and down alternate.
  std::vector<std::uint32_t> level_size_;   ///< Fat tree: links up from a subtree of each level.
  std::vector<std::uint32_t> hosts_below_;  ///< Fat tree: below a switch of each level; 1 for level 0, the hosts.
  std::uint32_t local_begin_ = 0;           ///< Dragonfly: links within groups.
  std::uint32_t global_begin_ = 0;          ///< Dragonfly: links between groups.
};

}  // namespace plait::replay
