// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

#include "plait/plait.hpp"

namespace app {

/// The values that determine a run's result, by name. A run continues from a checkpoint only if all are equal.
using Description = std::map<std::string, std::string>;

/// Throws `plait::Error` with the value that differs when the checkpoint is of another run.
void throw_unless_same(const plait::data::Checkpoint& checkpoint, const Description& description);

/// The newest complete checkpoint in `folder`, or nothing. Rank 0 prints if there is none, and which files are not
/// usable. Collective. Throws: `AgreedError`.
[[nodiscard]] std::optional<plait::data::NewestCheckpoint> find_checkpoint(
    plait::data::CheckpointStore& store,
    const std::string& program,
    const plait::data::ReadCheckpointOptions& options,
    const std::string& folder,
    bool is_first);

}  // namespace app
