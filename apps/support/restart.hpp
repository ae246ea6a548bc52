// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

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

/// What a store has; nothing, and the reason printed, if that cannot be read. Collective. Throws: `AgreedError`.
[[nodiscard]] std::optional<plait::data::NewestCheckpoint> find_readable(plait::data::CheckpointStore& store,
                                                                         const std::string& program,
                                                                         bool is_first);

/// Writes checkpoints. A disk that refuses one does not end the run: the older ones stay, and a restart continues from
/// them.
class CheckpointWriter {
 public:
  /// Borrows `store`. `is_first`: on rank 0, which prints.
  CheckpointWriter(plait::data::CheckpointStore& store, std::string program, bool is_first)
      : store_{store}, program_{std::move(program)}, is_first_{is_first} {}

  /// Writes a checkpoint. If the system refuses it, rank 0 prints the reason, once until one is written again.
  /// Collective. Throws: `AgreedError` for other errors.
  void write(const plait::data::Checkpoint& checkpoint);
  /// Rank 0 prints how many checkpoints were not written, if any. Call it at the end of the run.
  void report() const;

 private:
  plait::data::CheckpointStore& store_;
  std::string program_;
  bool is_first_;
  bool was_refused_ = false;
  std::uint64_t written_ = 0;
  std::uint64_t refused_ = 0;
};

}  // namespace app
