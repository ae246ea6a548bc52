// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/base/id.hpp"
#include "plait/data/collections/element.hpp"

namespace plait::data {

/// A message to an element that did not exist.
struct LostMessage {
  ElementId from;  ///< Invalid if it was sent by `Collection::send`.
  ElementId to;
};

/// Statistics of a phase on this rank.
struct PhaseReport {
  nanoseconds took{};                 ///< From its start until this rank detected its end.
  std::uint64_t steps = 0;            ///< Of elements that were here.
  std::uint64_t messages = 0;         ///< Taken by elements that were here.
  std::uint64_t messages_sent = 0;    ///< To elements on other ranks.
  std::uint64_t bytes_sent = 0;       ///< In these, without their heads.
  std::uint64_t forwarded = 0;        ///< Messages to elements that had moved from here.
  std::uint64_t forwarded_again = 0;  ///< Of these, those that had been forwarded before.
  std::uint64_t lost_count = 0;   ///< Messages to elements that did not exist, counted on the rank where they ended.
  std::vector<LostMessage> lost;  ///< The first of these, 100 at most.
};

/// An element and its new rank.
struct Move {
  ElementId id;
  Rank to;
};

/// Statistics of a migration on this rank.
struct MigrationReport {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint64_t bytes_sent = 0;
  nanoseconds took{};  ///< From the call until all elements had arrived.
};

/// The bytes that an element has sent to another.
struct PeerBytes {
  ElementId peer;
  std::uint64_t bytes = 0;
};

/// The cost of an element since the last reset.
struct ElementLoad {
  ElementId id;
  double seconds = 0;           ///< In its steps and entry methods, as measured.
  std::vector<PeerBytes> sent;  ///< Bytes of arguments, to elements of any rank.
};

}  // namespace plait::data
