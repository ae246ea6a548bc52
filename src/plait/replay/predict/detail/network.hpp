// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "plait/replay/predict/detail/event_queue.hpp"
#include "plait/replay/predict/detail/machine.hpp"
#include "plait/replay/predict/detail/message_table.hpp"

namespace plait::replay::predicting {

/// A model of how bytes move from rank to rank.
class Network {
 public:
  Network() = default;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  virtual ~Network() = default;

  /// Hands a message to the sender's interface. Calls are in the order of time.
  virtual void submit(std::uint32_t message, Time now) = 0;
  /// Handles an event that this network has queued.
  virtual void handle(const Event& event) = 0;
  /// Called after the last event of the time `now`.
  virtual void end_instant(Time now) = 0;
  [[nodiscard]] virtual std::size_t bytes() const noexcept = 0;
};

class MessageProtocol;

/// The parts that a network uses; references are borrowed.
struct NetworkParts {
  const Machine& machine;
  MessageTable& messages;
  EventQueue& events;
  MessageProtocol& user;  ///< Notified of messages.
  double tolerance = 0;   ///< Of the flow model.
};

/// Creates the LogGP model: messages queue at the interfaces of their hosts.
[[nodiscard]] std::unique_ptr<Network> make_point_network(const NetworkParts& parts);

/// Creates the flow model: messages between hosts share the links of their routes, max-min fairly. Messages within a
/// host are as in a point network.
[[nodiscard]] std::unique_ptr<Network> make_flow_network(const NetworkParts& parts);

}  // namespace plait::replay::predicting
