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

// Exchanges between the ranks of a replay, at its start and end. Collective. Throw: `Error` with `network`.

/// Sends each rank its part from rank 0, the only one whose `parts` are used.
[[nodiscard]] RankPart hand_out(MPI_Comm ranks, const std::vector<RankPart>& parts);

[[nodiscard]] Rank rank_in(MPI_Comm ranks);
[[nodiscard]] std::uint32_t size_of(MPI_Comm ranks);

/// Returns the text of rank 0.
[[nodiscard]] std::string broadcast_text(MPI_Comm ranks, const std::string& text);

/// Throws `Error` with `code` on all ranks if any has a sentence: that of the lowest such rank.
void throw_together(MPI_Comm ranks, const std::string& sentence, ErrorCode code);

/// Returns the bytes of each rank on rank 0, nothing elsewhere.
[[nodiscard]] std::vector<Bytes> gather_bytes(MPI_Comm ranks, std::span<const std::byte> mine);

/// Measures and records the offset of this rank's clock from that of rank 0. Of several exchanges, the one with the
/// shortest round trip counts.
void record_clock(MPI_Comm ranks, trace::Recorder& recorder);

}  // namespace plait::replay
