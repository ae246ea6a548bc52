// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "plait/replay/detail/rounds.hpp"
#include "plait/replay/predict/detail/event_queue.hpp"
#include "plait/replay/predict/detail/message_protocol.hpp"
#include "plait/replay/schedule.hpp"

namespace plait::replay::predicting {

class Engine;

/// Set in the numbers of operations that are rounds of collectives; the other bits are a helper's number.
constexpr std::uint32_t helper_bit = 0x8000'0000;

/// The collectives in flight. A helper carries out the rounds of messages of one rank's part.
class CollectiveRuns {
 public:
  /// Borrows all. `user` completes operations of collectives.
  CollectiveRuns(
      const Schedule& schedule, const Machine& machine, MessageProtocol& messages, EventQueue& events, Engine& user)
      : schedule_{schedule}, machine_{machine}, messages_{messages}, events_{events}, user_{user} {}

  /// Starts the part of `rank` in the collective `operation` of `stream`. `number`: of the operation among all. Throws:
  /// `Error` with `bad_input` for a rank that is not a member.
  void begin(const Stream& stream, const Operation& operation, std::uint32_t number, std::uint32_t rank, Time now);
  /// Continues a helper whose rank is in the library, or that sends.
  void run(std::uint32_t helper, Time now);
  /// Reports that a send or receive of the helper's round is complete.
  void complete(std::uint32_t helper, Time at, Time cost);

  [[nodiscard]] bool is_sending(std::uint32_t helper) const noexcept { return helpers_[helper].is_sending; }
  [[nodiscard]] std::uint32_t rank_of(std::uint32_t helper) const noexcept { return helpers_[helper].rank; }

 private:
  /// One rank's part of a collective.
  struct Helper {
    detail::Rounds rounds;
    std::span<const std::uint32_t> members;  ///< Empty: all ranks.
    std::uint32_t operation = 0;
    std::uint32_t rank = 0;
    std::uint32_t communicator = 0;
    std::uint32_t sequence = 0;  ///< Among the collectives of the communicator.
    std::uint32_t round = 0;
    std::uint32_t remaining = 0;
    bool is_sending = false;
    Time ready = 0;
  };

  void begin_round(std::uint32_t index, Time now);
  void send_of_round(std::uint32_t index, Time now);
  [[nodiscard]] std::uint32_t member_of(std::uint32_t communicator, std::uint32_t rank);

  const Schedule& schedule_;
  const Machine& machine_;
  MessageProtocol& messages_;
  EventQueue& events_;
  Engine& user_;
  std::vector<Helper> helpers_;
  std::vector<std::uint32_t> free_helpers_;
  std::unordered_map<std::uint64_t, std::uint32_t> sequences_;  ///< Collectives so far, by communicator and rank.
  /// Index of each rank, by communicator.
  std::unordered_map<std::uint32_t, std::unordered_map<std::uint32_t, std::uint32_t>> members_;
};

}  // namespace plait::replay::predicting
