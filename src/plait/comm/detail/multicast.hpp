// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "plait/comm/detail/completions.hpp"
#include "plait/comm/detail/incoming.hpp"
#include "plait/comm/detail/network.hpp"
#include "plait/comm/detail/operation.hpp"
#include "plait/comm/detail/outbox.hpp"
#include "plait/comm/detail/rendezvous_receiver.hpp"
#include "plait/comm/detail/sequences.hpp"
#include "plait/comm/wire.hpp"

namespace plait::comm::detail {

/// One copy of a multicast: its receiver, and where that rank forwards it to.
struct Branch {
  wire::Stop to;
  std::vector<wire::Stop> stops;
};

/// Divides the destinations of a multicast into the branches of a binomial tree: ceil(log2(n + 1)) of them, the
/// biggest first, unless `stops_max`, the most that fits into a packet, requires more.
///
/// `stops` are sorted, the most urgent first: the first become this rank's own branches, the others are distributed so
/// that an urgent one has few ranks before it. Cost: linear.
[[nodiscard]] std::vector<Branch> branches(std::span<const wire::Stop> stops, std::size_t stops_max);

/// Sends and forwards messages to several ranks: each rank forwards what it received to the part of the destinations
/// that came with it, whether its own receive is posted or not.
///
/// A rendezvous message is offered to the next ranks at once, and moved as its segments arrive. Threads: one at a time.
class Multicast {
 public:
  /// All must outlive it.
  Multicast(
      Network& network, Outbox& outbox, Completions& completions, Sequences& sequences, RendezvousReceiver& rendezvous)
      : network_{network}, outbox_{outbox}, completions_{completions}, sequences_{sequences}, rendezvous_{rendezvous} {}

  /// Starts `send` to each of `stops`, whose ranks differ; their sequence numbers are set here.
  void send(Operation& send, std::vector<wire::Stop> stops);
  /// Forwards an eager message, if it has stops.
  void forward_eager(const Incoming& message);
  /// Receives a rendezvous message with the program's receive, and forwards it.
  void receive(Operation& receive, const Incoming& message);
  /// Receives a rendezvous message for the ranks behind this one only; `take_staged` gives it to a later receive.
  [[nodiscard]] Operation& stage(const Incoming& message);
  /// Gives the program's receive what was staged, now or when it is complete. Takes over one count of `staging`.
  void take_staged(Operation& receive, Operation& staging);
  /// A segment of `source` has arrived: what is there from the beginning is offered to the next ranks.
  void segment_arrived(Operation& source, std::size_t offset, std::size_t bytes);

 private:
  [[nodiscard]] std::size_t stops_max() const;
  [[nodiscard]] Operation& make_forward(const wire::Header& header, Rank origin, const Branch& branch);
  void forward(Operation& source, const wire::Header& header, Rank origin, std::span<const wire::Stop> stops);

  Network& network_;
  Outbox& outbox_;
  Completions& completions_;
  Sequences& sequences_;
  RendezvousReceiver& rendezvous_;
};

}  // namespace plait::comm::detail
