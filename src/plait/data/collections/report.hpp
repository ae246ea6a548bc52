// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/base/id.hpp"
#include "plait/data/collections/element.hpp"

namespace plait::data {

/// A message that no element has taken: it was sent to one that is not there, or not any more.
struct LostMessage {
  ElementId from;  ///< No element when it was sent by `Collection::send`.
  ElementId to;
};

/// What happened in a phase on this rank.
struct PhaseReport {
  nanoseconds took{};                 ///< From its start until this rank saw that all ranks had ended.
  std::uint64_t steps = 0;            ///< Of elements that were here.
  std::uint64_t messages = 0;         ///< Taken by elements that were here.
  std::uint64_t messages_sent = 0;    ///< To elements on other ranks.
  std::uint64_t bytes_sent = 0;       ///< In these, without their heads.
  std::uint64_t forwarded = 0;        ///< Messages that arrived after their element had moved on.
  std::uint64_t forwarded_again = 0;  ///< Of these, those that had been forwarded before.
  std::uint64_t lost_count = 0;       ///< Messages to elements that are not there, as far as they ended here.
  std::vector<LostMessage> lost;      ///< The first of these, 100 at most.
};

/// An element and the rank where it goes.
struct Move {
  ElementId id;
  Rank to;
};

/// What happened in a migration on this rank.
struct MigrationReport {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint64_t bytes_sent = 0;
  nanoseconds took{};  ///< From the call to its end, when all elements had arrived.
};

/// The bytes that one element has sent to another.
struct PeerBytes {
  ElementId peer;
  std::uint64_t bytes = 0;
};

/// The cost of an element since the last reset.
struct ElementLoad {
  ElementId id;
  double seconds = 0;           ///< In its steps and entry methods, as measured.
  std::vector<PeerBytes> sent;  ///< To elements anywhere: the arguments' bytes.
};

}  // namespace plait::data
