// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <span>

#include "plait/base/bytes.hpp"
#include "plait/base/clock.hpp"
#include "plait/comm/matching.hpp"
#include "plait/comm/request.hpp"
#include "plait/net/driver.hpp"

namespace plait::comm::detail {

/// The state of one send or receive, shared by the endpoint and the handles. Counted: the endpoint holds one count
/// until completion.
struct Operation : PostedReceive {
  enum class State : std::uint8_t { pending, pending_with_callback, complete };

  std::atomic<std::uint32_t> count = 1;
  std::atomic<State> state = State::pending;
  net::Direction direction = net::Direction::sent;
  bool is_active_message = false;
  Status status;
  Completion* completion = nullptr;
  std::function<void(const Status&)> callback;

  Operation* next_completed = nullptr;

  CommId comm;
  Rank peer;  ///< Destination of a send; source of a matched receive.
  Tag tag;
  std::uint32_t sequence = 0;
  std::uint32_t slot = 0;           ///< Bulk slot of a rendezvous receive.
  std::uint64_t announced = 0;      ///< The sender's number of an announced message.
  std::span<const std::byte> data;  ///< Of a send.
  std::span<std::byte> buffer;      ///< Of a receive into memory of fixed size.
  Bytes* growing = nullptr;         ///< Of a receive into memory that takes the message's size.
  Bytes owned;                      ///< Data of an active message that could not leave at once, or that is arriving.

  // For the trace: posted; handed to the network or matched; left or arrived.
  nanoseconds posted{};
  nanoseconds handed{};
  nanoseconds moved{};
  bool was_announced = false;
};

}  // namespace plait::comm::detail
