// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "plait/exports/run_files.hpp"

namespace plait::exports {

/// One side of a message, with times of the export: those that are not known are those beside them.
struct MessageSide {
  const trace::MessageEvent* event = nullptr;
  std::uint64_t posted = 0;
  std::uint64_t completed = 0;  ///< At least `posted`.
  WorkerId worker;              ///< That was notified of the end; invalid for a thread that is no worker.
  /// Equal on both sides of a message, and of no other of the run but by a collision of hashes (64 bits).
  std::uint64_t flow = 0;

  [[nodiscard]] bool is_received() const noexcept { return event->direction == trace::MessageDirection::received; }
  /// Number of the call that posted it; 0 where that is not known.
  [[nodiscard]] std::uint32_t number() const noexcept { return event->is_matched_by_order ? event->sequence : 0; }
};

/// The messages of one rank in the order of recording, without the runtime's own. The two sides of a message have the
/// same `flow` although no rank sees the other's file: of messages that match by order of posting it comes from their
/// place among those of the same ranks, communicator and tag, which is the same on both sides. Refers to `rank`.
/// Cost: a sort of the messages that match by order.
[[nodiscard]] std::vector<MessageSide> message_sides(const RankOfRun& rank);

}  // namespace plait::exports
