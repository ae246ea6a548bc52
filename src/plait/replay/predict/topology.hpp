// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "plait/replay/predict/platform.hpp"

namespace plait::replay {

/// The links between hosts, and which of them a message takes. Every link leads one way.
///
/// Links are numbered from 0: first each host's own link out, then each host's link in, then those between switches or
/// routers. Routes are fixed and computed, not stored.
class Topology {
 public:
  /// Expects: settings that `parse_platform` lets pass, and at most their number of hosts.
  Topology(const TopologySettings& settings, const LinkCosts& between_hosts, std::uint32_t hosts);

  [[nodiscard]] std::uint32_t host_count() const noexcept { return hosts_; }
  [[nodiscard]] std::uint32_t link_count() const noexcept { return link_count_; }
  /// Links of the longest route.
  [[nodiscard]] std::uint32_t route_max() const noexcept { return route_max_; }
  /// Bytes a nanosecond.
  [[nodiscard]] double capacity(std::uint32_t link) const noexcept;

  /// Appends the links from one host to another, in their order. Expects: two different hosts.
  void route(std::uint32_t from, std::uint32_t to, std::vector<std::uint32_t>& links) const;

  /// What the links between switches add to L.
  [[nodiscard]] double latency_ns(std::uint32_t from, std::uint32_t to) const noexcept;

 private:
  void route_fat_tree(std::uint32_t from, std::uint32_t to, std::vector<std::uint32_t>& links) const;
  void route_dragonfly(std::uint32_t from, std::uint32_t to, std::vector<std::uint32_t>& links) const;
  void route_torus(std::uint32_t from, std::uint32_t to, std::vector<std::uint32_t>& links) const;
  /// The router of group `in` that the link to group `to` starts from.
  [[nodiscard]] std::uint32_t gateway(std::uint32_t in, std::uint32_t to) const noexcept;
  [[nodiscard]] std::uint32_t common_level(std::uint32_t from, std::uint32_t to) const noexcept;

  TopologySettings settings_;
  double host_capacity_;
  std::uint32_t hosts_;
  std::uint32_t link_count_;
  std::uint32_t route_max_ = 2;
  std::uint32_t up_links_ = 1;              ///< Fat tree: of each switch.
  std::vector<std::uint32_t> level_begin_;  ///< Fat tree: first link up from switches of a level; then first link down.
  std::vector<std::uint32_t> level_size_;   ///< Links up from a subtree of that level, all its switches together.
  std::vector<std::uint32_t> hosts_below_;  ///< Fat tree: of a switch of a level; 1 for level 0, the hosts.
  std::uint32_t local_begin_ = 0;           ///< Dragonfly: links within groups.
  std::uint32_t global_begin_ = 0;          ///< Dragonfly: links between groups.
};

}  // namespace plait::replay
