// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "plait/replay/predict/detail/event_queue.hpp"

namespace plait::replay::predicting {

/// What a network tells of messages. Times may lie ahead of the event that told them.
class NetworkUser {
 public:
  NetworkUser() = default;
  NetworkUser(const NetworkUser&) = delete;
  NetworkUser& operator=(const NetworkUser&) = delete;
  NetworkUser(NetworkUser&&) = delete;
  NetworkUser& operator=(NetworkUser&&) = delete;

  /// The sender's interface has all of it.
  virtual void left(std::uint32_t message, Time at) = 0;
  /// The receiver's memory has all of it. After `left`.
  virtual void delivered(std::uint32_t message, Time at) = 0;

 protected:
  ~NetworkUser() = default;
};

/// How bytes get from rank to rank.
class Network {
 public:
  Network() = default;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  Network(Network&&) = delete;
  Network& operator=(Network&&) = delete;
  virtual ~Network() = default;

  /// The message's bytes are handed to the sender's interface. Calls come in the order of their times.
  virtual void submit(std::uint32_t message, Time now) = 0;
  /// An event that this network has put into the queue.
  virtual void handle(const Event& event) = 0;
  /// No other event has the time `now`: what depends on all of them can be done.
  virtual void end_instant(Time now) = 0;
  [[nodiscard]] virtual std::size_t bytes() const noexcept = 0;
};

}  // namespace plait::replay::predicting
