// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "plait/replay/predict/detail/event_queue.hpp"
#include "plait/replay/predict/detail/machine.hpp"
#include "plait/replay/predict/detail/message_table.hpp"

namespace plait::replay::predicting {

/// How bytes get from rank to rank.
class Network {
 public:
  Network() = default;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  virtual ~Network() = default;

  /// The message's bytes are handed to the sender's interface. Calls come in the order of their times.
  virtual void submit(std::uint32_t message, Time now) = 0;
  /// An event that this network has put into the queue.
  virtual void handle(const Event& event) = 0;
  /// No other event has the time `now`: what depends on all of them can be done.
  virtual void end_instant(Time now) = 0;
  [[nodiscard]] virtual std::size_t bytes() const noexcept = 0;
};

class MessageProtocol;

/// What networks are made with; all borrowed but the numbers.
struct NetworkParts {
  const Machine& machine;
  MessageTable& messages;
  EventQueue& events;
  MessageProtocol& user;  ///< Of the messages.
  double tolerance = 0;   ///< Of the flow model.
};

/// LogGP: messages meet at their hosts' interfaces only, in the order in which they come there.
[[nodiscard]] std::unique_ptr<Network> make_point_network(const NetworkParts& parts);

/// Messages between hosts share the links of their routes, max-min fairly; those within a host go as in a point
/// network.
[[nodiscard]] std::unique_ptr<Network> make_flow_network(const NetworkParts& parts);

}  // namespace plait::replay::predicting
