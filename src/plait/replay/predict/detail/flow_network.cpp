// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "plait/replay/predict/detail/message_protocol.hpp"
#include "plait/replay/predict/detail/network.hpp"
#include "plait/replay/predict/max_min.hpp"

namespace plait::replay::predicting {
namespace {

/// So few flows are settled exactly, whatever the tolerance.
constexpr std::size_t few = 64;

std::vector<double> capacities_of(const Topology& topology) {
  std::vector<double> capacities(topology.link_count());
  for (std::uint32_t link = 0; link < capacities.size(); ++link) {
    capacities[link] = topology.capacity(link) / 1000;  // bytes a picosecond
  }
  return capacities;
}

/// Messages between hosts share the links of their routes, max-min fairly; their latency is added. Messages within a
/// host are as in `PointNetwork`.
///
/// All changes of one time are settled together. If few flows share links, they are settled exactly. Many keep their
/// rates until a fraction `tolerance` of them has started or ended, or that fraction of the mean time that they still
/// need has passed. Meanwhile new flows get what is free, or about the rate of their neighbours. So a message costs
/// about 2 / tolerance visits of its route, however many are in flight.
class FlowNetwork final : public Network {
 public:
  explicit FlowNetwork(const NetworkParts& parts)
      : parts_{parts},
        within_host_{make_point_network(parts)},
        shares_{capacities_of(parts.machine.topology), parts.machine.topology.route_max()},
        next_begin_(parts.machine.topology.host_count(), 0),
        links_(parts.machine.topology.link_count()) {}

  void submit(std::uint32_t message, Time now) override {
    const Message& data = parts_.messages[message];
    if (data.is_within_host) {
      within_host_->submit(message, now);
      return;
    }
    Time& next = next_begin_[parts_.machine.host(data.source)];
    const Time begins = std::max(now, next);
    next = begins + parts_.machine.between.gap;
    if (begins > now) {
      parts_.events.push({begins, EventKind::arrival, message});
    } else {
      begin(message, now);
    }
  }

  void handle(const Event& event) override {
    if (event.kind() == EventKind::port) {
      within_host_->handle(event);
    } else if (event.kind() == EventKind::arrival) {
      begin(event.id(), event.at);
    } else if (event.id() == none) {
      alarm_ = event.at == alarm_ ? never : alarm_;  // handled at the end of the instant
    } else if (event.stamp() == (flows_[event.id()].stamp & Event::stamp_mask)) {
      end(event.id(), event.at);
    }
  }

  void end_instant(Time now) override {
    if (changed_links_.empty() && now < later_at_) {
      return;
    }
    std::size_t kept = crowded_changes_;
    for (std::size_t i = kept; i < changed_links_.size(); ++i) {
      const std::uint32_t link = changed_links_[i];
      if (!links_[link].is_changed) {
        continue;  // settled with another
      }
      if (!links_[link].is_crowded) {
        const bool is_all = shares_.find(link, parts_.tolerance > 0 ? few : std::numeric_limits<std::size_t>::max());
        if (is_all) {
          for (const std::uint32_t found : shares_.found_links()) {
            links_[found].is_changed = false;
          }
          shares_.settle_found();
          reschedule(shares_.found_flows(), static_cast<double>(now), 0);
          continue;
        }
        for (const std::uint32_t found : shares_.found_links()) {
          links_[found].is_crowded = true;
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
          flows_[flow].rate = shares_.rate(flow);
          schedule(flow, static_cast<double>(now) + flows_[flow].left / shares_.rate(flow));
        }
      }
      wake(settle_at_);
    }
    begun_.clear();
  }

  [[nodiscard]] std::size_t bytes() const noexcept override {
    return within_host_->bytes() + shares_.bytes() + flows_.capacity() * sizeof(Progress) +
           links_.capacity() * sizeof(LinkState);
  }

 private:
  /// The bytes left of a flow at the time `since`, and its rate from then on.
  struct Progress {
    double left = 0;
    double since = 0;
    double rate = 0;
    std::uint32_t message = none;
    std::uint32_t stamp = 0;  ///< Of its valid event.
  };

  struct LinkState {
    bool is_changed = false;
    bool is_crowded = false;  ///< Shared by many flows, directly or indirectly.
  };

  void begin(std::uint32_t message, Time now) {
    const Message& data = parts_.messages[message];
    if (data.bytes <= 1) {
      parts_.user.left(message, now);
      parts_.user.delivered(message, now + parts_.machine.latency(data.source, data.destination));
      return;
    }
    route_.clear();
    parts_.machine.topology.route(parts_.machine.host(data.source), parts_.machine.host(data.destination), route_);
    const std::uint32_t flow = shares_.add(route_);
    if (flow >= flows_.size()) {
      flows_.resize(flow + 1);
    }
    Progress& progress = flows_[flow];
    progress.left = static_cast<double>(data.bytes - 1);
    progress.since = static_cast<double>(now);
    progress.rate = 0;
    progress.message = message;
    begun_.push_back(flow);
    change(flow);
  }

  void end(std::uint32_t flow, Time now) {
    const std::uint32_t message = std::exchange(flows_[flow].message, none);
    ++flows_[flow].stamp;
    change(flow);
    shares_.remove(flow);
    const Message& data = parts_.messages[message];
    parts_.user.left(message, now);
    parts_.user.delivered(message, now + parts_.machine.latency(data.source, data.destination));
  }

  void change(std::uint32_t flow) {
    ++changes_;
    for (const std::uint32_t link : shares_.route(flow)) {
      if (!std::exchange(links_[link].is_changed, true)) {
        changed_links_.push_back(link);
      }
    }
  }

  void settle_all(Time now) {
    for (const std::uint32_t link : changed_links_) {
      links_[link].is_changed = false;
    }
    changed_links_.clear();
    crowded_changes_ = 0;
    changes_ = 0;
    most_flows_ = std::max(most_flows_, shares_.count());
    if (shares_.count() < most_flows_ / 2) {  // they may no longer share links
      most_flows_ = shares_.count();
      std::ranges::for_each(links_, [](LinkState& link) { link.is_crowded = false; });
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
    const double window = rate > 0 ? parts_.tolerance * left / rate : 0;
    settle_at_ = now + std::max(Time{1}, static_cast<Time>(window));
    later_at_ = never;
    if (const auto horizon = reschedule(active, static_cast<double>(now), window)) {
      later_at_ = now + std::max(Time{1}, static_cast<Time>(*horizon));
      wake(later_at_);
    }
  }

  /// After a settlement at `now`: creates events for the flows that end within `window`, at least for the first.
  /// Returns the time that they cover, unless all flows have events.
  std::optional<double> reschedule(std::span<const std::uint32_t> flows, double now, double window) {
    double first = std::numeric_limits<double>::max();
    for (const std::uint32_t flow : flows) {
      bring_up(flow, now);
      ++flows_[flow].stamp;
      first = std::min(first, flows_[flow].left / shares_.rate(flow));
    }
    const double horizon = std::max(window, first * (1 + 1e-12));
    bool has_all = true;
    for (const std::uint32_t flow : flows) {
      const double needs = flows_[flow].left / shares_.rate(flow);
      if (needs <= horizon) {
        schedule(flow, now + needs);
      }
      has_all = has_all && needs <= horizon;
    }
    return has_all ? std::nullopt : std::optional{horizon};
  }

  void bring_up(std::uint32_t flow, double now) {
    Progress& progress = flows_[flow];
    progress.left = std::max(0.0, progress.left - progress.rate * (now - progress.since));
    progress.since = now;
    progress.rate = shares_.rate(flow);
  }

  void schedule(std::uint32_t flow, double end) {
    parts_.events.push({static_cast<Time>(std::llround(end)), EventKind::flow, flow, flows_[flow].stamp});
  }

  void wake(Time at) {
    if (at < alarm_) {
      alarm_ = at;
      parts_.events.push({at, EventKind::flow, none});
    }
  }

  [[nodiscard]] bool may_wait(Time now) const noexcept {
    return now < settle_at_ && static_cast<double>(changes_) < parts_.tolerance * static_cast<double>(shares_.count());
  }

  NetworkParts parts_;
  std::unique_ptr<Network> within_host_;
  MaxMin shares_;
  std::vector<Progress> flows_;
  std::vector<Time> next_begin_;  ///< When the gap of each host's interface ends.
  std::vector<std::uint32_t> changed_links_;
  std::size_t crowded_changes_ = 0;  ///< The first of those wait until all flows are settled.
  std::vector<LinkState> links_;
  std::vector<std::uint32_t> begun_;
  std::vector<std::uint32_t> route_;
  std::size_t changes_ = 0;  ///< Since all flows were settled.
  std::size_t most_flows_ = 0;
  Time settle_at_ = 0;     ///< Until then, many flows may keep their rates.
  Time later_at_ = never;  ///< When flows without an event must get one.
  Time alarm_ = never;     ///< Time of the next event for either.
};

}  // namespace

std::unique_ptr<Network> make_flow_network(const NetworkParts& parts) {
  return std::make_unique<FlowNetwork>(parts);
}

}  // namespace plait::replay::predicting
