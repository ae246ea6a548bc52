// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "plait/fft.hpp"
#include "plait/plait.hpp"

#include "dns/solver.hpp"
#include "support/restart.hpp"

namespace dns {

// A run as a checkpoint: the modes of all fields, line by line along axis 0, which every rank has whole; lines of zeros
// are left out. Which ranks wrote them does not matter to the one that goes on.

/// Where a run is, beside its fields.
struct RunState {
  double time = 0;
  std::uint64_t step = 0;
  double courant_rate = 0;  ///< That the next step's length is chosen by.
  std::vector<double> forcing;
};

/// What this rank has. Cost: a copy of the fields. Not collective.
[[nodiscard]] plait::data::Checkpoint to_checkpoint(const Fields& fields,
                                                    const plait::fft::ArrayLayout& spectral,
                                                    const RunState& state,
                                                    const app::Description& description);

/// Gives every rank the lines that it has in such a grid.
[[nodiscard]] plait::data::ReadCheckpointOptions lines_to_owners(
    const std::array<plait::fft::Index, 3>& spectral_lengths, plait::fft::TransformGrid grid);

/// Puts what was read with `lines_to_owners` into `fields`, zeros where there was nothing; returns the rest.
/// Throws: `plait::Error` with `bad_input` when a line is not of this rank or has another length.
RunState from_checkpoint(const plait::data::Checkpoint& checkpoint,
                         const plait::fft::ArrayLayout& spectral,
                         Fields& fields);

}  // namespace dns
