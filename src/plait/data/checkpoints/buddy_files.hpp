// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "plait/comm/collectives/group.hpp"
#include "plait/data/checkpoints/buddy.hpp"
#include "plait/data/checkpoints/checkpoint.hpp"

namespace plait::data {

/// Where copies are stored, and which ranks share the folder.
struct BuddyFolder {
  /// In the memory of this host, as in /dev/shm; created if it does not exist. The path may be the same on all hosts.
  std::filesystem::path path;
  std::uint32_t self = 0;     ///< This rank's number among the ranks of its host.
  std::uint32_t sharers = 1;  ///< How many these are.
};

/// Checkpoints in the memory of hosts, which outlive the processes of a job: each rank stores its elements and those of
/// its partner, as `BuddyCopies`, in files of its host's memory.
///
/// A new job over the remaining hosts, of any number of ranks, reads the newest generation that is complete. It is lost
/// if the hosts of a rank and of its partner, half of all ranks away, are both lost. Memory: two packed copies of the
/// elements, four while writing. Construct it on all ranks together; see `CheckpointStore` for the other rules.
class BuddyFiles final : public CheckpointStore {
 public:
  /// Collective. Takes over the copies that an earlier job left in the folder. Throws: `Error` with `io` on all ranks
  /// when a folder cannot be created or read.
  BuddyFiles(comm::Endpoint& endpoint, BuddyFolder folder);

  /// Stores a generation, then removes the older one. If a host has no room, the older one stays. Cost: as
  /// `BuddyCopies::copy`, and a copy of its memory.
  WrittenCheckpoint write(const Checkpoint& checkpoint) override;
  /// Copies have no names: throws `Error` with `bad_argument`.
  Checkpoint read(const std::filesystem::path& file,
                  const std::string& program,
                  const ReadCheckpointOptions& options) override;
  /// With as many ranks as before, elements return to their ranks; else those of one rank stay together. Throws: also
  /// `bad_argument` for a placement.
  std::optional<NewestCheckpoint> read_newest(const std::string& program,
                                              const ReadCheckpointOptions& options) override;

  /// Removes all copies, as at the end of a run that needs them no longer. Collective.
  void remove();

 private:
  [[nodiscard]] std::vector<std::filesystem::path> left_behind() const;
  [[nodiscard]] std::uint64_t newest_generation() const;
  [[nodiscard]] std::filesystem::path store(const BuddyMemory::Copy& copy) const;

  comm::Group group_;
  BuddyFolder folder_;
  std::vector<std::filesystem::path> files_;  ///< Those that this rank reads and removes.
  BuddyCopies copies_;
};

}  // namespace plait::data
