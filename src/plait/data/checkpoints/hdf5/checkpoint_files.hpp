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

/// One rank's end of a folder of checkpoint files.
struct CheckpointFolder {
  std::filesystem::path folder;     ///< Made by the first write if it is not there.
  std::string name = "checkpoint";  ///< Files are folder/name-STEP.h5; several programs may share a folder.
  std::uint32_t keep = 2;           ///< How many are kept, at least 1; with 2 there is always a whole one.
};

/// Checkpoints as HDF5 files, one file each ([the
/// format](../../../../docs/how-to/checkpoints.md#the-format-version-1)).
///
/// Rank 0 creates the file and sends all ranks the offsets of its data sets; every rank writes its elements there with
/// the `SlabWriter`; rank 0 then marks the file as whole, has it on the disk, and gives it its name. Only rank 0 calls
/// HDF5, but for a `SlabWriter` that does. Memory: beside the packed elements 24 bytes for each; rank 0 reads 8 bytes
/// for each element of all ranks when there are other ranks than before, all ranks do with a placement of the
/// program's.
///
/// Write throws, besides, `bad_argument` when the folder has checkpoints of this or a later step that this store has
/// not read from: another run's, which would be lost. After it has read, those of later steps than one written are
/// removed: they belong to what was given up.
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
  bool is_continuing_ = false;  ///< What is in the folder is this run's.
};

}  // namespace plait::data::hdf5
