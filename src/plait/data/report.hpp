// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/base/id.hpp"
#include "plait/data/element.hpp"

namespace plait::data {

/// A message that no element has taken: it was sent to one that is not there, or not any more.
struct LostMessage {
  ElementId from;  ///< Names nothing when it was sent from outside a turn.
  ElementId to;
};

/// What a phase was on this rank.
struct PhaseReport {
  nanoseconds took{};                 ///< From the call to its end, when all ranks had ended.
  std::uint64_t turns = 0;            ///< Of elements that were here.
  std::uint64_t messages = 0;         ///< Taken by elements that were here.
  std::uint64_t messages_sent = 0;    ///< To elements on other ranks.
  std::uint64_t bytes_sent = 0;       ///< In these, without what says where to.
  std::uint64_t forwarded = 0;        ///< Messages that came here after their element had moved on.
  std::uint64_t forwarded_again = 0;  ///< Of these, those that had been passed on before.
  std::uint64_t lost_count = 0;       ///< Messages to elements that are not there, as far as they ended here.
  std::vector<LostMessage> lost;      ///< The first of these, 100 at most.
};

/// An element, and where it shall go.
struct Move {
  ElementId id;
  Rank to;
};

/// What a migration was on this rank.
struct MigrationReport {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint64_t bytes_sent = 0;
  nanoseconds took{};  ///< From the call to its end, when all elements had come.
};

/// What one element has sent to another.
struct PeerBytes {
  ElementId peer;
  std::uint64_t bytes = 0;
};

/// What an element has cost since the last reset.
struct ElementLoad {
  ElementId id;
  double seconds = 0;           ///< In its turns and the messages it has taken, as measured.
  std::vector<PeerBytes> sent;  ///< To elements anywhere: the arguments' bytes.
};

}  // namespace plait::data
