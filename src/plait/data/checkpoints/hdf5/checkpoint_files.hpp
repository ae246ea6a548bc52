// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "plait/comm/collectives/group.hpp"
#include "plait/data/checkpoints/checkpoint.hpp"
#include "plait/data/checkpoints/hdf5/slab_writer.hpp"

namespace plait::comm {
class Endpoint;
}

namespace plait::data::hdf5 {

namespace detail {
struct CollectionLayout;
struct FileLayout;
}  // namespace detail

/// A folder of checkpoint files.
struct CheckpointFolder {
  std::filesystem::path folder;     ///< The first write creates it if needed.
  std::string name = "checkpoint";  ///< Files are folder/name-STEP.h5; several programs may share a folder.
  std::uint32_t keep = 2;           ///< Files to keep, at least 1; with 2, one is always complete.
};

/// Checkpoints as HDF5 files, one file each ([the
/// format](../../../../../docs/how-to/checkpoints.md#the-format-version-1)).
///
/// Rank 0 creates the file and sends all ranks the offsets of its data sets; each rank writes its elements with the
/// `SlabWriter`; rank 0 then marks the file as complete, syncs it to the disk, and renames it. Only rank 0 calls HDF5,
/// unless the `SlabWriter` does. Memory: 24 bytes an element beside the packed elements. To read, rank 0 needs 8 bytes
/// for each element of all ranks when their number differs; all ranks do with a `placement`.
///
/// `write` also throws `bad_argument` when the folder has checkpoints of this or a later step that this store has not
/// read: they belong to another run. After a read, a write removes the files of later steps, which were given up.
class CheckpointFiles final : public CheckpointStore {
 public:
  CheckpointFiles(comm::Endpoint& endpoint,
                  CheckpointFolder folder,
                  std::unique_ptr<SlabWriter> writer = make_direct_slab_writer());

  WrittenCheckpoint write(const Checkpoint& checkpoint) override;
  Checkpoint read(const std::filesystem::path& file,
                  const std::string& program,
                  const ReadCheckpointOptions& options) override;
  std::optional<NewestCheckpoint> read_newest(const std::string& program,
                                              const ReadCheckpointOptions& options) override;

 private:
  struct Found {
    std::uint64_t step = 0;
    std::filesystem::path file;
  };
  [[nodiscard]] bool is_first() const { return group_.self() == 0; }
  [[nodiscard]] std::filesystem::path file_of(std::uint64_t step) const;
  [[nodiscard]] std::vector<Found> find_files() const;
  [[nodiscard]] detail::FileLayout plan(const Checkpoint& checkpoint) const;
  void throw_if_foreign(std::uint64_t step) const;
  void write_elements(const std::filesystem::path& file,
                      const Checkpoint& checkpoint,
                      const detail::FileLayout& layout);
  void publish(const std::filesystem::path& partial, std::uint64_t step) const;

  comm::Group group_;
  CheckpointFolder folder_;
  std::unique_ptr<SlabWriter> writer_;
  bool is_continuing_ = false;  ///< The files of the folder belong to this run.
};

}  // namespace plait::data::hdf5
