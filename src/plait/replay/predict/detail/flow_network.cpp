// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/predict/detail/flow_network.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace plait::replay::predicting {
namespace {

/// So few are settled at once, whatever the tolerance.
constexpr std::size_t few = 64;

std::vector<double> capacities_of(const Topology& topology) {
  std::vector<double> capacities(topology.link_count());
  for (std::uint32_t link = 0; link < capacities.size(); ++link) {
    capacities[link] = topology.capacity(link) / 1000;  // bytes a picosecond
  }
  return capacities;
}

std::uint32_t longest_route(const TopologySettings& topology) {
  switch (topology.shape) {
    case Shape::flat:
      break;
    case Shape::fat_tree:
      return 2 * topology.levels;
    case Shape::dragonfly:
      return 5;
    case Shape::torus:
      return std::accumulate(
          topology.sizes.begin(), topology.sizes.end(), 2U, [](std::uint32_t sum, std::uint32_t size) {
            return sum + size / 2;
          });
  }
  return 2;
}

}  // namespace

FlowNetwork::FlowNetwork(const NetworkParts& parts)
    : messages_{parts.messages},
      events_{parts.events},
      user_{parts.user},
      topology_{parts.topology},
      placement_{parts.platform.ranks_per_host},
      between_{parts.platform.between_hosts},
      within_host_{parts},
      tolerance_{parts.tolerance},
      shares_{capacities_of(parts.topology), longest_route(parts.platform.topology)},
      next_begin_(parts.topology.host_count(), 0),
      is_changed_(parts.topology.link_count(), 0),
      is_crowded_(parts.topology.link_count(), 0) {}

void FlowNetwork::submit(std::uint32_t message, Time now) {
  const Message& data = messages_[message];
  if (data.is_within_host) {
    within_host_.submit(message, now);
    return;
  }
  Time& next = next_begin_[placement_.host(data.source)];
  const Time begins = std::max(now, next);
  next = begins + between_.gap;
  if (begins > now) {
    events_.push({begins, EventKind::arrival, message});
  } else {
    begin(message, now);
  }
}

void FlowNetwork::handle(const Event& event) {
  if (event.kind() == EventKind::port) {
    within_host_.handle(event);
  } else if (event.kind() == EventKind::arrival) {
    begin(event.id(), event.at);
  } else if (event.id() == none) {
    alarm_ = event.at == alarm_ ? never : alarm_;  // what it is for is done at the end of the instant
  } else if (event.stamp() == (flows_[event.id()].stamp & Event::stamp_mask)) {
    end(event.id(), event.at);
  }
}

void FlowNetwork::begin(std::uint32_t message, Time now) {
  const Message& data = messages_[message];
  const std::uint32_t from = placement_.host(data.source);
  const std::uint32_t to = placement_.host(data.destination);
  if (data.bytes <= 1) {
    const Time latency = between_.latency + to_time(topology_.latency_ns(from, to));
    user_.left(message, now);
    user_.delivered(message, now + latency);
    return;
  }
  route_.clear();
  topology_.route(from, to, route_);
  const std::uint32_t flow = shares_.add(route_);
  if (flow >= flows_.size()) {
    flows_.resize(flow + 1);
    old_rates_.resize(flow + 1);
  }
  Progress& progress = flows_[flow];
  progress.left = static_cast<double>(data.bytes - 1);
  progress.since = static_cast<double>(now);
  progress.message = message;
  old_rates_[flow] = 0;
  begun_.push_back(flow);
  change(flow);
}

void FlowNetwork::end(std::uint32_t flow, Time now) {
  const std::uint32_t message = std::exchange(flows_[flow].message, none);
  ++flows_[flow].stamp;
  change(flow);
  shares_.remove(flow);
  const Message& data = messages_[message];
  const double more = topology_.latency_ns(placement_.host(data.source), placement_.host(data.destination));
  user_.left(message, now);
  user_.delivered(message, now + between_.latency + to_time(more));
}

void FlowNetwork::change(std::uint32_t flow) {
  ++changes_;
  for (const std::uint32_t link : shares_.route(flow)) {
    if (is_changed_[link] == 0) {
      is_changed_[link] = 1;
      changed_links_.push_back(link);
    }
  }
}

bool FlowNetwork::may_wait(Time now) const noexcept {
  return now < settle_at_ && static_cast<double>(changes_) < tolerance_ * static_cast<double>(shares_.count());
}

void FlowNetwork::end_instant(Time now) {
  if (changed_links_.empty() && now < later_at_) {
    return;
  }
  std::size_t kept = crowded_changes_;
  for (std::size_t i = kept; i < changed_links_.size(); ++i) {
    const std::uint32_t link = changed_links_[i];
    if (is_changed_[link] == 0) {
      continue;  // settled with another
    }
    if (is_crowded_[link] == 0) {
      const bool is_all = shares_.find(link, tolerance_ > 0 ? few : std::numeric_limits<std::size_t>::max());
      if (is_all) {
        for (const std::uint32_t found : shares_.found_links()) {
          is_changed_[found] = 0;
        }
        shares_.settle_found();
        reschedule(shares_.found_flows(), static_cast<double>(now), 0);
        continue;
      }
      for (const std::uint32_t found : shares_.found_links()) {
        is_crowded_[found] = 1;
      }
    }
    changed_links_[kept++] = link;
  }
  changed_links_.resize(kept);
  crowded_changes_ = kept;
  if (now >= later_at_ || (kept > 0 && !may_wait(now))) {
    settle_all(now);
  } else if (kept > 0) {
    for (const std::uint32_t flow : begun_) {
      if (flows_[flow].message != none && shares_.rate(flow) == 0) {
        shares_.settle_roughly(flow);
        old_rates_[flow] = shares_.rate(flow);
        schedule(flow, static_cast<double>(now) + flows_[flow].left / shares_.rate(flow));
      }
    }
    wake(settle_at_);
  }
  begun_.clear();
}

void FlowNetwork::settle_all(Time now) {
  for (const std::uint32_t link : changed_links_) {
    is_changed_[link] = 0;
  }
  changed_links_.clear();
  crowded_changes_ = 0;
  changes_ = 0;
  most_flows_ = std::max(most_flows_, shares_.count());
  if (shares_.count() < most_flows_ / 2) {  // they may have fallen apart
    most_flows_ = shares_.count();
    std::ranges::fill(is_crowded_, 0);
  }
  shares_.settle_all();
  double left = 0;
  double rate = 0;
  std::vector<std::uint32_t>& active = route_;
  active.clear();
  for (std::uint32_t flow = 0; flow < shares_.flow_bound(); ++flow) {
    if (flows_[flow].message != none) {
      bring_up(flow, static_cast<double>(now));
      left += flows_[flow].left;
      rate += shares_.rate(flow);
      active.push_back(flow);
    }
  }
  const double window = rate > 0 ? tolerance_ * left / rate : 0;
  settle_at_ = now + std::max(Time{1}, static_cast<Time>(window));
  const std::size_t before = scheduled_;
  const double horizon = reschedule(active, static_cast<double>(now), window);
  later_at_ = never;
  if (scheduled_ - before < active.size()) {
    later_at_ = now + std::max(Time{1}, static_cast<Time>(horizon));
    wake(later_at_);
  }
}

void FlowNetwork::wake(Time at) {
  if (at < alarm_) {
    alarm_ = at;
    events_.push({at, EventKind::flow, none});
  }
}

void FlowNetwork::bring_up(std::uint32_t flow, double now) {
  Progress& progress = flows_[flow];
  progress.left = std::max(0.0, progress.left - old_rates_[flow] * (now - progress.since));
  progress.since = now;
  old_rates_[flow] = shares_.rate(flow);
}

template <class Flows>
double FlowNetwork::reschedule(const Flows& flows, double now, double window) {
  double first = std::numeric_limits<double>::max();
  for (const std::uint32_t flow : flows) {
    bring_up(flow, now);
    ++flows_[flow].stamp;
    first = std::min(first, flows_[flow].left / shares_.rate(flow));
  }
  const double horizon = std::max(window, first * (1 + 1e-12));
  for (const std::uint32_t flow : flows) {
    const double needs = flows_[flow].left / shares_.rate(flow);
    if (needs <= horizon) {
      schedule(flow, now + needs);
    }
  }
  return horizon;
}

void FlowNetwork::schedule(std::uint32_t flow, double end) {
  ++scheduled_;
  events_.push({static_cast<Time>(std::llround(end)), EventKind::flow, flow, flows_[flow].stamp});
}

std::size_t FlowNetwork::bytes() const noexcept {
  return within_host_.bytes() + shares_.bytes() + flows_.capacity() * (sizeof(Progress) + sizeof(double)) +
         is_changed_.capacity() * 2;
}

}  // namespace plait::replay::predicting
