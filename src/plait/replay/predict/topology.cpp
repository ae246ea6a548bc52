// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/predict/topology.hpp"

#include <algorithm>
#include <cmath>

#include "plait/base/error.hpp"

namespace plait::replay {

Topology::Topology(const TopologySettings& settings, const LinkCosts& between_hosts, std::uint32_t hosts)
    : settings_{settings}, host_capacity_{1 / between_hosts.gap_per_byte_ns}, hosts_{hosts}, link_count_{2 * hosts} {
  switch (settings_.shape) {
    case TopologyShape::flat:
      break;
    case TopologyShape::fat_tree: {
      up_links_ = std::max(
          1U,
          static_cast<std::uint32_t>(std::lround(static_cast<double>(settings_.arity) / settings_.oversubscription)));
      hosts_below_.push_back(1);
      std::uint32_t paths = 1;  // from a host up to the switches of the level
      for (std::uint32_t level = 1; level < settings_.levels; ++level) {
        hosts_below_.push_back(hosts_below_.back() * settings_.arity);
        paths *= up_links_;
        const std::uint32_t subtrees = (hosts + hosts_below_.back() - 1) / hosts_below_.back();
        level_size_.push_back(paths);
        level_begin_.push_back(link_count_);
        link_count_ += 2 * subtrees * paths;
      }
      route_max_ = 2 * settings_.levels;
      break;
    }
    case TopologyShape::dragonfly:
      local_begin_ = link_count_;
      global_begin_ = local_begin_ + settings_.groups * settings_.routers * settings_.routers;
      link_count_ = global_begin_ + settings_.groups * settings_.groups;
      route_max_ = 5;
      break;
    case TopologyShape::torus:
      link_count_ += hosts * 2 * static_cast<std::uint32_t>(settings_.sizes.size());
      for (const std::uint32_t size : settings_.sizes) {
        route_max_ += size / 2;
      }
      break;
  }
}

double Topology::capacity(std::uint32_t link) const noexcept {
  if (link < 2 * hosts_) {
    return host_capacity_;
  }
  return (is_global(link) ? settings_.global_bytes_per_s : settings_.link_bytes_per_s) * 1e-9;
}

void Topology::route(std::uint32_t from, std::uint32_t to, std::vector<std::uint32_t>& links) const {
  expect(from != to && from < hosts_ && to < hosts_, "routes lead from one host to another");
  links.push_back(from);
  switch (settings_.shape) {
    case TopologyShape::flat:
      break;
    case TopologyShape::fat_tree:
      route_fat_tree(from, to, links);
      break;
    case TopologyShape::dragonfly:
      route_dragonfly(from, to, links);
      break;
    case TopologyShape::torus:
      route_torus(from, to, links);
      break;
  }
  links.push_back(hosts_ + to);
}

std::uint32_t Topology::common_level(std::uint32_t from, std::uint32_t to) const noexcept {
  std::uint32_t level = 1;
  while (level < hosts_below_.size() && from / hosts_below_[level] != to / hosts_below_[level]) {
    ++level;
  }
  return level;
}

// Extended generalised fat tree: the switches of a level in one subtree are numbered by the choices on the way up. Each
// choice is a digit of the destination, so all messages to a host come down by the same links
// (Zahavi et al., "Optimized InfiniBand fat-tree routing for shift all-to-all communication patterns", 2010).
void Topology::route_fat_tree(std::uint32_t from, std::uint32_t to, std::vector<std::uint32_t>& links) const {
  const std::uint32_t top = common_level(from, to);
  const std::size_t begin = links.size();
  std::uint32_t place = 0;
  std::uint32_t paths = 1;
  for (std::uint32_t level = 1; level < top; ++level) {
    const std::uint32_t digit = to / hosts_below_[level - 1] % settings_.arity;
    place += digit % up_links_ * paths;
    paths *= up_links_;
    links.push_back(level_begin_[level - 1] + 2 * (from / hosts_below_[level] * level_size_[level - 1] + place));
  }
  // Down: the same places, in the subtrees of the destination.
  for (std::uint32_t level = top; level-- > 1;) {
    const std::uint32_t up = links[begin + level - 1];
    const std::uint32_t chosen = (up - level_begin_[level - 1]) / 2 % level_size_[level - 1];
    links.push_back(level_begin_[level - 1] + 2 * (to / hosts_below_[level] * level_size_[level - 1] + chosen) + 1);
  }
}

std::uint32_t Topology::gateway(std::uint32_t in, std::uint32_t to) const noexcept {
  return (to + settings_.groups - in - 1) % settings_.groups % settings_.routers;
}

void Topology::route_dragonfly(std::uint32_t from, std::uint32_t to, std::vector<std::uint32_t>& links) const {
  const std::uint32_t routers = settings_.routers;
  std::uint32_t router = from / settings_.hosts % routers;
  const std::uint32_t group = from / settings_.hosts / routers;
  const std::uint32_t last = to / settings_.hosts % routers;
  const std::uint32_t last_group = to / settings_.hosts / routers;
  const auto local = [&](std::uint32_t in, std::uint32_t next) {
    if (router != next) {
      links.push_back(local_begin_ + (in * routers + router) * routers + next);
      router = next;
    }
  };
  if (group != last_group) {
    local(group, gateway(group, last_group));
    links.push_back(global_begin_ + group * settings_.groups + last_group);
    router = gateway(last_group, group);
  }
  local(last_group, last);
}

void Topology::route_torus(std::uint32_t from, std::uint32_t to, std::vector<std::uint32_t>& links) const {
  const auto dimensions = static_cast<std::uint32_t>(settings_.sizes.size());
  std::uint32_t stride = 1;
  std::uint32_t at = from;
  for (std::uint32_t dimension = 0; dimension < dimensions; ++dimension) {
    const std::uint32_t size = settings_.sizes[dimension];
    const std::uint32_t goal = to / stride % size;
    std::uint32_t here = from / stride % size;
    const std::uint32_t forward = (goal + size - here) % size;
    const bool is_up = forward <= size - forward;
    for (std::uint32_t hops = is_up ? forward : size - forward; hops > 0; --hops) {
      links.push_back(2 * hosts_ + (at * dimensions + dimension) * 2 + (is_up ? 0 : 1));
      const std::uint32_t next = is_up ? (here + 1) % size : (here + size - 1) % size;
      at = at - here * stride + next * stride;
      here = next;
    }
    stride *= size;
  }
}

double Topology::latency_ns(std::uint32_t from, std::uint32_t to) const {
  if (settings_.shape == TopologyShape::flat) {
    return 0;
  }
  std::vector<std::uint32_t> links;
  links.reserve(route_max_);
  route(from, to, links);
  const auto inner = static_cast<double>(links.size() - 2);  // without the links of the two hosts
  const auto global =
      static_cast<double>(std::ranges::count_if(links, [&](std::uint32_t link) { return is_global(link); }));
  return global * settings_.global_latency_ns + (inner - global) * settings_.link_latency_ns;
}

}  // namespace plait::replay
