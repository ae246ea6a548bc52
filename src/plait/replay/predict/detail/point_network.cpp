// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/predict/detail/point_network.hpp"

#include <algorithm>

namespace plait::replay::predicting {

PointNetwork::PointNetwork(const NetworkParts& parts)
    : messages_{parts.messages},
      events_{parts.events},
      user_{parts.user},
      topology_{parts.topology},
      placement_{parts.platform.ranks_per_host},
      between_{parts.platform.between_hosts},
      within_{parts.platform.within_host},
      ports_(parts.topology.host_count() + parts.ranks),
      arrival_free_(parts.topology.host_count(), 0) {}

void PointNetwork::submit(std::uint32_t message, Time now) {
  const Message& data = messages_[message];
  const std::uint32_t at = data.is_within_host ? topology_.host_count() + data.source : placement_.host(data.source);
  Port& port = ports_[at];
  if (port.first == none && port.free <= now) {
    depart(port, message, now);
    return;
  }
  if (port.first == none) {
    events_.push({port.free, EventKind::port, at});
    port.first = message;
  } else {
    messages_[port.last].next_in_port = message;
  }
  port.last = message;
}

void PointNetwork::depart(Port& port, std::uint32_t message, Time now) {
  const Message& data = messages_[message];
  const Costs& costs = data.is_within_host ? within_ : between_;
  const Time moving = costs.moving(data.bytes);
  port.free = now + costs.gap + moving;
  user_.left(message, now + moving);
  if (data.is_within_host) {
    // Bytes the other way move the slower for these; where there are none, its port is free again before an answer can
    // leave.
    Time& other = ports_[topology_.host_count() + data.destination].free;
    other = std::max(other, now) + static_cast<Time>(static_cast<double>(moving) * (costs.both_ways - 1));
    user_.delivered(message, now + costs.latency + moving);
    return;
  }
  const double more = topology_.latency_ns(placement_.host(data.source), placement_.host(data.destination));
  events_.push({now + costs.latency + to_time(more), EventKind::arrival, message});
}

void PointNetwork::handle(const Event& event) {
  if (event.kind() == EventKind::arrival) {
    const Message& data = messages_[event.id()];
    Time& free = arrival_free_[placement_.host(data.destination)];
    const Time begin = std::max(event.at, free);
    const Time moving = between_.moving(data.bytes);
    free = begin + between_.gap + moving;
    user_.delivered(event.id(), begin + moving);
    return;
  }
  Port& port = ports_[event.id()];
  if (port.free > event.at) {  // put off by bytes that went the other way
    events_.push({port.free, EventKind::port, event.id()});
    return;
  }
  const std::uint32_t message = port.first;
  port.first = messages_[message].next_in_port;
  messages_[message].next_in_port = none;
  depart(port, message, event.at);
  if (port.first != none) {
    events_.push({port.free, EventKind::port, event.id()});
  }
}

}  // namespace plait::replay::predicting
