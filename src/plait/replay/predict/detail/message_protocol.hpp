// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "plait/replay/predict/detail/event_queue.hpp"
#include "plait/replay/predict/detail/machine.hpp"
#include "plait/replay/predict/detail/message_table.hpp"
#include "plait/replay/predict/detail/network.hpp"
#include "plait/replay/predict/predict.hpp"

namespace plait::replay::predicting {

/// Work of the network on a processor, spread evenly over a time. Computing ends later by the part of it that is done
/// meanwhile; a rank that waits loses nothing.
struct Disturbance {
  Time at = 0;
  Time taken = 0;
  Time lasts = 0;  ///< From `at`. Longer if the work would else take more than nine tenths of the processor.

  [[nodiscard]] Time end() const noexcept { return at + std::max(lasts, taken + taken / 9); }
};

/// What a protocol notifies: an engine that plays operations. Times may be in the future.
class MessageUser {
 public:
  /// The send and the receive of a message are matched.
  virtual void matched(const Message& message, Time now) = 0;
  /// The data of a send have left its buffer.
  virtual void has_left(std::uint32_t send, Time at) = 0;
  /// A send is over, or a receive has its message. `cost`: time of the receiver's processor.
  virtual void complete(std::uint32_t operation, Time at, Time cost) = 0;
  /// The network takes so much of a rank's processor.
  virtual void disturb(std::uint32_t /*rank*/, const Disturbance& /*by*/) {}

 protected:
  ~MessageUser() = default;
};

/// The messages of a prediction: matching, the eager and the rendezvous protocol, on a network.
class MessageProtocol {
 public:
  /// Borrows all. Notifies `user`, possibly before the time of what it reports.
  MessageProtocol(const Machine& machine, const PredictOptions& options, EventQueue& events, MessageUser& user);

  /// Posts a send, after its overhead.
  void send(std::uint32_t operation, const MatchKey& key, std::uint64_t bytes, Time now);
  /// Posts a receive. Returns the time of the receiver's processor to search its unexpected messages.
  [[nodiscard]] Time receive(std::uint32_t operation, const MatchKey& key, std::uint64_t bytes, Time now);
  /// The RTS (`EventKind::request`) or CTS (`answer`) of a rendezvous has arrived at a rank that is in the library.
  void progress(EventKind kind, std::uint32_t message, Time now);
  /// Prefetches the memory of a key that is needed soon.
  void prefetch(const MatchKey& key) const { messages_.prefetch(key); }

  [[nodiscard]] Network& network() noexcept { return *network_; }
  [[nodiscard]] const MessageTable& table() const noexcept { return messages_; }
  [[nodiscard]] std::uint64_t message_count() const noexcept { return message_count_; }
  [[nodiscard]] std::uint64_t byte_count() const noexcept { return byte_count_; }

  /// The unexpected eager messages of a rank that were received. Cost: sorts them.
  [[nodiscard]] Unexpected unexpected_of(std::uint32_t rank) const;

  /// The message is out of the sender's buffer; `at` may be in the future.
  void left(std::uint32_t message, Time at);
  /// The message is in the receiver's memory. Called after `left`.
  void delivered(std::uint32_t message, Time at);

 private:
  [[nodiscard]] const Costs& costs(const Message& message) const noexcept {
    return message.is_within_host ? machine_.within : machine_.between;
  }
  /// An unexpected eager message, from its arrival to its receive.
  struct UnexpectedMessage {
    Time from = 0;
    Time until = 0;
    std::uint64_t bytes = 0;
  };

  void answer(std::uint32_t message, Time now);
  /// Completes the receive of a message that was delivered at `at`.
  void hand_over(std::uint32_t message, Time at);
  void disturb_sender(const Message& sent, Time at);
  /// Gives the data to the network.
  void submit(std::uint32_t message, Time now);

  const Machine& machine_;
  EventQueue& events_;
  MessageUser& user_;
  MessageTable messages_;
  std::unique_ptr<Network> network_;
  std::vector<std::uint32_t> posted_;      ///< Of each rank: receives without a message.
  std::vector<std::uint32_t> unexpected_;  ///< Of each rank: messages without a receive, at the time of their send.
  std::vector<std::vector<UnexpectedMessage>> kept_;  ///< Of each rank.
  std::uint64_t message_count_ = 0;
  std::uint64_t byte_count_ = 0;
};

}  // namespace plait::replay::predicting
