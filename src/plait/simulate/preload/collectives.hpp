// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

#include "plait/simulate/preload/communicators.hpp"
#include "plait/simulate/preload/messages.hpp"

namespace plait::simulate {

/// One collective operation of a communicator, as one member executes it, by messages: trees of binomial shape for what
/// has a root, with about log2(members) messages one after the other. Each object is used for one call.
class SimulatedCollective {
 public:
  /// Borrows both. Expects: each member creates its objects in the same order.
  SimulatedCollective(Messages& messages, SimulatedCommunicator& communicator, Rank self);

  [[nodiscard]] std::uint32_t rank() const noexcept { return rank_; }
  [[nodiscard]] std::uint32_t size() const noexcept { return communicator_.size(); }
  /// Of this operation, among those of the communicator.
  [[nodiscard]] std::uint32_t number() const noexcept { return number_; }

  void barrier();
  /// Returns the root's payload on each member.
  [[nodiscard]] Payload broadcast(std::uint32_t root, Payload mine);
  /// Returns what the members gave, by rank, on the root, and nothing on others.
  [[nodiscard]] Parts gather(std::uint32_t root, Bytes mine);
  /// Returns what the members gave, by rank.
  [[nodiscard]] Payload all_gather(Bytes mine);
  /// The root gives `parts`, by rank; each member gets its own.
  [[nodiscard]] Bytes scatter(std::uint32_t root, Parts parts);

  using Combine = std::function<Bytes(const Bytes& left, Bytes right)>;
  /// Combines in the order of ranks; the result is on the root.
  [[nodiscard]] Bytes reduce(std::uint32_t root, Bytes mine, const Combine& combine);
  [[nodiscard]] Bytes all_reduce(Bytes mine, const Combine& combine);
  /// Combines those of lower ranks, and nothing on rank 0.
  [[nodiscard]] Bytes exclusive_scan(Bytes mine, const Combine& combine);

  /// Each member gives `parts`, by rank; returns what the members gave to this one, by rank. For small parts: log2 of
  /// the members messages one after the other, with half of the parts each.
  [[nodiscard]] Parts exchange_small(Parts parts);

  using Unpack = std::function<void(std::uint32_t from, const Bytes& data)>;
  /// Each member sends `parts`, by rank; `unpack` is called for each member, in the order of arrival, until `request`
  /// is complete.
  void exchange(Parts parts, const Unpack& unpack, const RequestPointer& request);

 private:
  void send(std::uint32_t to, Payload data);
  [[nodiscard]] Payload receive(std::uint32_t from);

  Messages& messages_;
  SimulatedCommunicator& communicator_;
  Rank self_;
  std::uint32_t rank_;
  std::uint32_t number_;
};

}  // namespace plait::simulate
