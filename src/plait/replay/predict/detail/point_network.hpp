// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "plait/replay/predict/detail/message_table.hpp"
#include "plait/replay/predict/detail/network.hpp"
#include "plait/replay/predict/detail/places.hpp"
#include "plait/replay/predict/topology.hpp"

namespace plait::replay::predicting {

/// What networks are made with; all borrowed but the numbers.
struct NetworkParts {
  const Platform& platform;
  const Topology& topology;
  MessageTable& messages;
  EventQueue& events;
  NetworkUser& user;
  std::uint32_t ranks = 0;
  double tolerance = 0;  ///< Of the flow model.
};

/// LogGP: messages meet at their hosts' interfaces only, in the order in which they come there.
///
/// Only the first of the messages that wait at an interface has an event, so the queue holds what is on the wire, not
/// what is outstanding.
class PointNetwork final : public Network {
 public:
  explicit PointNetwork(const NetworkParts& parts);

  void submit(std::uint32_t message, Time now) override;
  void handle(const Event& event) override;
  void end_instant(Time now) override { static_cast<void>(now); }
  [[nodiscard]] std::size_t bytes() const noexcept override {
    return ports_.capacity() * sizeof(Port) + arrival_free_.capacity() * sizeof(Time);
  }

 private:
  /// Where messages leave: of each host, then, for messages within it, of each rank.
  struct Port {
    Time free = 0;
    std::uint32_t first = none;
    std::uint32_t last = none;
  };

  void depart(Port& port, std::uint32_t message, Time now);

  MessageTable& messages_;
  EventQueue& events_;
  NetworkUser& user_;
  const Topology& topology_;
  Placement placement_;
  Costs between_;
  Costs within_;
  std::vector<Port> ports_;
  std::vector<Time> arrival_free_;  ///< Of each host: when its interface can take the next message in.
};

}  // namespace plait::replay::predicting
