// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <vector>

#include "plait/replay/predict/detail/message_protocol.hpp"
#include "plait/replay/predict/detail/network.hpp"

namespace plait::replay::predicting {
namespace {

/// LogGP: messages queue at the interfaces of their hosts.
///
/// Only the first message at an interface has an event, so the event queue has the messages on the wire only.
class PointNetwork final : public Network {
 public:
  explicit PointNetwork(const NetworkParts& parts)
      : parts_{parts},
        ports_(parts.machine.topology.host_count() + parts.machine.ranks),
        arrival_free_(parts.machine.topology.host_count(), 0) {}

  void submit(std::uint32_t message, Time now) override {
    const Message& data = parts_.messages[message];
    const std::uint32_t at =
        data.is_within_host ? parts_.machine.topology.host_count() + data.source : parts_.machine.host(data.source);
    Port& port = ports_[at];
    if (port.first == none && port.free <= now) {
      depart(port, message, now);
      return;
    }
    if (port.first == none) {
      parts_.events.push({port.free, EventKind::port, at});
      port.first = message;
    } else {
      parts_.messages[port.last].next_in_port = message;
    }
    port.last = message;
  }

  void handle(const Event& event) override {
    if (event.kind() == EventKind::arrival) {
      const Message& data = parts_.messages[event.id()];
      Time& free = arrival_free_[parts_.machine.host(data.destination)];
      const Time begin = std::max(event.at, free);
      const Costs& costs = parts_.machine.between;
      free = begin + costs.gap + costs.occupying(data.bytes);
      parts_.user.delivered(event.id(), begin + costs.moving(data.bytes));
      return;
    }
    Port& port = ports_[event.id()];
    if (port.free > event.at) {  // delayed by bytes in the other direction
      parts_.events.push({port.free, EventKind::port, event.id()});
      return;
    }
    const std::uint32_t message = port.first;
    port.first = parts_.messages[message].next_in_port;
    parts_.messages[message].next_in_port = none;
    depart(port, message, event.at);
    if (port.first != none) {
      parts_.events.push({port.free, EventKind::port, event.id()});
    }
  }

  void end_instant(Time /*now*/) override {}
  [[nodiscard]] std::size_t bytes() const noexcept override {
    return ports_.capacity() * sizeof(Port) + arrival_free_.capacity() * sizeof(Time);
  }

 private:
  /// An outgoing interface: one of each host, then, for messages within hosts, one of each rank.
  struct Port {
    Time free = 0;
    std::uint32_t first = none;
    std::uint32_t last = none;
  };

  void depart(Port& port, std::uint32_t message, Time now) {
    const Message& data = parts_.messages[message];
    const Costs& costs = data.is_within_host ? parts_.machine.within : parts_.machine.between;
    const Time moving = costs.moving(data.bytes);
    const Time occupying = costs.occupying(data.bytes);
    port.free = now + costs.gap + occupying;
    parts_.user.left(message, now + costs.leaving(data.bytes));
    if (data.is_within_host) {
      // Delays bytes in the other direction. If there are none, the port is free before an answer can leave.
      Time& other = ports_[parts_.machine.topology.host_count() + data.destination].free;
      other = std::max(other, now) + static_cast<Time>(static_cast<double>(occupying) * (costs.link.both_ways - 1));
      parts_.user.delivered(message, now + costs.latency + moving);
      return;
    }
    const Time latency = parts_.machine.latency(data.source, data.destination);
    parts_.events.push({now + latency, EventKind::arrival, message});
  }

  NetworkParts parts_;
  std::vector<Port> ports_;
  std::vector<Time> arrival_free_;  ///< When the interface of each host can receive the next message.
};

}  // namespace

std::unique_ptr<Network> make_point_network(const NetworkParts& parts) {
  return std::make_unique<PointNetwork>(parts);
}

}  // namespace plait::replay::predicting
