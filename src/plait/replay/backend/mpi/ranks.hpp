// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <mpi.h>

#include "plait/base/bytes.hpp"
#include "plait/base/error.hpp"
#include "plait/replay/part.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::replay {

// What the ranks of a replay exchange at its start and end. All ranks call the same; `Error` with `network`.

/// Hands each rank its part, which only rank 0 has.
[[nodiscard]] RankPart hand_out(MPI_Comm ranks, const std::vector<RankPart>& parts);

[[nodiscard]] Rank rank_in(MPI_Comm ranks);
[[nodiscard]] std::uint32_t size_of(MPI_Comm ranks);

/// The text of rank 0, on all.
[[nodiscard]] std::string broadcast_text(MPI_Comm ranks, const std::string& text);

/// Goes on when no rank has a sentence; else throws the first one, in order of ranks, on all: `Error` with `code`.
void throw_together(MPI_Comm ranks, const std::string& sentence, ErrorCode code);

/// On rank 0 the bytes of each rank; elsewhere nothing.
[[nodiscard]] std::vector<Bytes> gather_bytes(MPI_Comm ranks, std::span<const std::byte> mine);

/// Finds what to add to this rank's time to get rank 0's, by exchanges of which the one with the shortest round trip
/// counts, and records it.
void record_clock(MPI_Comm ranks, trace::Recorder& recorder);

}  // namespace plait::replay
