// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "plait/plait.hpp"

#include "sph/program/files.hpp"
#include "support/restart.hpp"

namespace sph {

/// Where a run is, beside its particles.
struct RunPlace {
  RunState state;
  double begin = 0;             ///< The time from which snapshots are counted.
  std::uint32_t snapshots = 0;  ///< Written before.
};

/// A run between two steps, which has `state.steps`, with all fields of this rank's particles in their order.
[[nodiscard]] plait::data::Checkpoint checkpoint_of(const Particles& store,
                                                    const RunPlace& place,
                                                    const plait::Runtime& runtime,
                                                    const app::Description& description);

/// Replaces the particles by those of the checkpoint that this rank has. Returns the place of the run: with its steps
/// if `ranks` is the number of those that wrote it; otherwise particles begin new steps. Throws: `plait::Error` with
/// `bad_input` for other fields.
[[nodiscard]] RunPlace go_on(const plait::data::Checkpoint& checkpoint,
                             Particles& store,
                             const StateFields& fields,
                             std::uint32_t ranks);

}  // namespace sph
