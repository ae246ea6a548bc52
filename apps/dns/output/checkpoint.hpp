// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "plait/fft.hpp"
#include "plait/plait.hpp"

#include "dns/modes.hpp"
#include "support/restart.hpp"

namespace dns {

// A run as a checkpoint: the modes of all fields by lines along axis 0, of which each rank has whole ones. Lines of
// zeros are omitted. A run may restart on another number or grid of ranks.

/// The state of a run beside its fields.
struct RunState {
  double time = 0;
  std::uint64_t step = 0;
  double courant_rate = 0;  ///< Determines the next step's length.
  std::vector<double> forcing;
};

/// This rank's part of the checkpoint. Not collective. Cost: a copy of the fields.
[[nodiscard]] plait::data::Checkpoint to_checkpoint(const Fields& fields,
                                                    const plait::fft::ArrayLayout& spectral,
                                                    const RunState& state,
                                                    const app::Description& description);

/// Assigns each line to the rank that has it in `grid`.
[[nodiscard]] plait::data::ReadCheckpointOptions lines_to_owners(
    const std::array<plait::fft::Index, 3>& spectral_lengths, plait::fft::TransformGrid grid);

/// Sets `fields` from a checkpoint read with `lines_to_owners`; omitted lines are zeros. Returns the rest of the state.
/// Throws: `plait::Error` with `bad_input` if a line belongs to another rank or has a wrong length.
RunState from_checkpoint(const plait::data::Checkpoint& checkpoint,
                         const plait::fft::ArrayLayout& spectral,
                         Fields& fields);

}  // namespace dns
