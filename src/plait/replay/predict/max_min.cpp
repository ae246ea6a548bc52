// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/predict/max_min.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <ranges>

#include "plait/base/error.hpp"

namespace plait::replay {

MaxMin::MaxMin(std::vector<double> capacities, std::uint32_t route_max)
    : shift_{static_cast<std::uint32_t>(std::bit_width(std::max(1U, route_max) - 1))},
      links_(capacities.size()),
      flows_of_(capacities.size()),
      link_marks_(capacities.size(), 0) {
  for (std::size_t link = 0; link < capacities.size(); ++link) {
    links_[link].capacity = links_[link].left = capacities[link];
  }
}

MaxMin::Flow MaxMin::add(std::span<const std::uint32_t> route) {
  expect(!route.empty() && route.size() <= (std::size_t{1} << shift_), "a route has 1 to route_max links");
  Flow flow = 0;
  if (free_.empty()) {
    flow = static_cast<Flow>(rates_.size());
    rates_.push_back(0);
    lengths_.push_back(0);
    flow_marks_.push_back(0);
    routes_.resize(routes_.size() + (std::size_t{1} << shift_));
    places_.resize(routes_.size());
  } else {
    flow = free_.back();
    free_.pop_back();
  }
  rates_[flow] = 0;
  lengths_[flow] = static_cast<std::uint16_t>(route.size());
  const std::size_t begin = std::size_t{flow} << shift_;
  for (std::size_t i = 0; i < route.size(); ++i) {
    std::vector<std::uint32_t>& flows = flows_of_[route[i]];
    routes_[begin + i] = route[i];
    places_[begin + i] = static_cast<std::uint32_t>(flows.size());
    flows.push_back(static_cast<std::uint32_t>(begin + i));
  }
  ++count_;
  return flow;
}

void MaxMin::remove(Flow flow) {
  const std::size_t begin = std::size_t{flow} << shift_;
  for (std::size_t i = begin; i < begin + lengths_[flow]; ++i) {
    std::vector<std::uint32_t>& flows = flows_of_[routes_[i]];
    const std::uint32_t moved = flows.back();
    flows[places_[i]] = moved;
    places_[moved] = places_[i];
    flows.pop_back();
    links_[routes_[i]].left += rates_[flow];
  }
  lengths_[flow] = 0;
  free_.push_back(flow);
  --count_;
}

bool MaxMin::find(std::uint32_t link, std::size_t flows_max) {
  ++mark_;
  found_flows_.clear();
  found_links_.assign(1, link);
  link_marks_[link] = mark_;
  for (std::size_t next = 0; next < found_links_.size(); ++next) {
    for (const std::uint32_t hop : flows_of_[found_links_[next]]) {
      const Flow flow = hop >> shift_;
      if (flow_marks_[flow] == mark_) {
        continue;
      }
      flow_marks_[flow] = mark_;
      found_flows_.push_back(flow);
      for (const std::uint32_t other : route(flow)) {
        if (link_marks_[other] != mark_) {
          link_marks_[other] = mark_;
          found_links_.push_back(other);
        }
      }
      if (found_flows_.size() > flows_max) {
        return false;
      }
    }
  }
  return true;
}

template <class Links>
void MaxMin::fill(const Links& links) {
  ++mark_;  // of flows: settled
  heap_.clear();
  for (const std::uint32_t index : links) {
    Link& link = links_[index];
    link.left = link.capacity;
    link.level = 0;
    link.open = static_cast<std::uint32_t>(flows_of_[index].size());
    if (link.open > 0) {
      heap_.emplace_back(link.capacity / link.open, index);
    }
  }
  std::ranges::make_heap(heap_, std::greater{});
  while (!heap_.empty()) {
    std::ranges::pop_heap(heap_, std::greater{});
    const std::uint32_t index = heap_.back().second;
    heap_.pop_back();
    const Link& link = links_[index];
    if (link.open == 0) {
      continue;
    }
    // Rounding must not leave the last flows of a link without any.
    const double level = std::max(link.left / link.open, link.capacity * 1e-9);
    if (!heap_.empty() && level > heap_.front().first) {
      heap_.emplace_back(level, index);
      std::ranges::push_heap(heap_, std::greater{});
      continue;
    }
    settle(index, level);
  }
}

void MaxMin::settle_found() {
  fill(found_links_);
}

void MaxMin::settle_all() {
  fill(std::views::iota(0U, static_cast<std::uint32_t>(links_.size())));
}

void MaxMin::settle(std::uint32_t index, double level) {
  links_[index].level = level;
  for (const std::uint32_t hop : flows_of_[index]) {
    const Flow flow = hop >> shift_;
    if (flow_marks_[flow] == mark_) {
      continue;
    }
    flow_marks_[flow] = mark_;
    rates_[flow] = level;
    for (const std::uint32_t other : route(flow)) {
      links_[other].left -= level;
      --links_[other].open;
    }
  }
}

void MaxMin::settle_roughly(Flow flow) {
  double rate = -1;
  for (const std::uint32_t index : route(flow)) {
    const Link& link = links_[index];
    const auto flows = static_cast<double>(flows_of_[index].size());
    const double share = std::max({link.capacity / flows, link.left, link.level * (flows - 1) / flows});
    rate = rate < 0 ? share : std::min(rate, share);
  }
  rates_[flow] = rate;
  for (const std::uint32_t index : route(flow)) {
    links_[index].left -= rate;
  }
}

std::size_t MaxMin::bytes() const noexcept {
  std::size_t sum = links_.capacity() * (sizeof(Link) + sizeof(std::vector<std::uint32_t>));
  for (const std::vector<std::uint32_t>& flows : flows_of_) {
    sum += flows.capacity() * sizeof(std::uint32_t);
  }
  return sum + rates_.capacity() * (sizeof(double) + sizeof(std::uint16_t) + sizeof(std::uint32_t)) +
         (routes_.capacity() + places_.capacity()) * sizeof(std::uint32_t);
}

}  // namespace plait::replay
