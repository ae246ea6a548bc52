// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "plait/comm/detail/completions.hpp"
#include "plait/comm/detail/handlers.hpp"
#include "plait/comm/detail/inbox.hpp"
#include "plait/comm/detail/incoming.hpp"
#include "plait/comm/detail/message_trace.hpp"
#include "plait/comm/detail/multicast.hpp"
#include "plait/comm/detail/network.hpp"
#include "plait/comm/detail/one_sided.hpp"
#include "plait/comm/detail/operation.hpp"
#include "plait/comm/detail/outbox.hpp"
#include "plait/comm/detail/rendezvous_receiver.hpp"

namespace plait::comm::detail {

/// Matches messages and receives, queues active messages, and passes on what is for exposed memory. Messages of one
/// (source, communicator) must be delivered in order. Threads: one at a time.
class Delivery {
 public:
  /// The other members of the engine that a delivery uses; all must outlive it.
  struct Uses {
    Network& network;
    MessageTrace& trace;
    Completions& completions;
    ArrivedActives& actives;
    Inbox& inbox;
    Outbox& outbox;
    RendezvousReceiver& rendezvous;
    Multicast& multicast;
    OneSidedTransfers& one_sided;
  };
  explicit Delivery(const Uses& uses) : uses_{uses} {}

  /// Delivers the next message in order.
  void deliver(const Incoming& message);

  /// Gives a receive an unexpected message, or posts it.
  void receive(Operation& receive);
  /// Gives a receive the message that was claimed for it.
  void receive_claimed(Operation& receive, std::unique_ptr<Unexpected> message);
  /// False when it is matched already.
  [[nodiscard]] bool cancel(Operation& receive);
  /// Drops a claimed message, but forwards it.
  void drop(std::unique_ptr<Unexpected> message);

 private:
  void deliver_active(const Incoming& message);
  void keep(const Incoming& message);
  void take_out(const Unexpected& message);
  void give(Operation& receive, const Incoming& message);
  void give_unexpected(Operation& receive, std::unique_ptr<Unexpected> message);

  const Uses uses_;
};

}  // namespace plait::comm::detail
