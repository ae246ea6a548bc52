// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/base/id.hpp"
#include "plait/data/checkpoints/packed_elements.hpp"
#include "plait/data/collections/element.hpp"

namespace plait::data {

/// What a program notes in a checkpoint beside its elements: bytes are for what only it understands, as the state of a
/// random generator.
using CheckpointValue = std::variant<std::uint64_t, double, std::string, Bytes>;

/// A program's state between two steps: what is the same on all ranks, and this rank's elements of each collection.
struct Checkpoint {
  std::string program;     ///< Its name: that of another one is refused.
  std::uint64_t step = 0;  ///< Done so far; the newest checkpoint is the one with the largest.
  std::map<std::string, CheckpointValue> values;
  std::vector<PackedElements> collections;

  /// The elements of a collection. Throws: `Error` with `bad_input` when it is not here, or when its elements are of
  /// another type, or its shape is another.
  [[nodiscard]] const PackedElements& elements(std::string_view collection,
                                               std::string_view type,
                                               const Shape& shape) const;
  /// A noted value. Throws: `Error` with `bad_input` when it is not here or of another type.
  template <class T>
  [[nodiscard]] const T& value(const std::string& key) const {
    const T* const found = std::get_if<T>(&find(key));
    if (found == nullptr) {
      throw_other_type(key);
    }
    return *found;
  }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(program, step, values, collections);
  }

 private:
  [[nodiscard]] const CheckpointValue& find(const std::string& key) const;
  [[noreturn]] void throw_other_type(const std::string& key) const;
};

/// What came of writing one.
struct WrittenCheckpoint {
  std::filesystem::path file;
  std::uint64_t elements = 0;  ///< Of all ranks and collections.
  std::uint64_t bytes = 0;     ///< Of the elements of all ranks.
};

/// Which rank gets an element that is read. Must be the same function on all ranks.
using CheckpointPlacement = std::function<Rank(ElementId)>;

struct ReadCheckpointOptions {
  /// Of all collections; without: as they were when there are as many ranks as then, else in the order of the file, so
  /// that all ranks get about the same number of bytes.
  CheckpointPlacement placement;
};

/// The newest checkpoint that is whole.
struct NewestCheckpoint {
  Checkpoint checkpoint;
  std::filesystem::path file;
  std::vector<std::string> refused;  ///< Of each newer one, why it could not be used.
};

/// A folder where the checkpoints of one program are kept: one writer of files behind it.
///
/// Every rank makes one over the same ranks. All calls are collective and are made between phases, by the thread that
/// may use the endpoint; they wait. Trouble on one rank is thrown on all, as the same sentence.
class CheckpointStore {
 public:
  CheckpointStore() = default;
  CheckpointStore(const CheckpointStore&) = delete;
  CheckpointStore& operator=(const CheckpointStore&) = delete;
  virtual ~CheckpointStore() = default;

  /// Writes one, and then removes those too old to be kept. Until it is whole and on the disk it has another name, so
  /// that a reader never sees a part; when it cannot be written the older ones stay as they are.
  ///
  /// Collections must be the same, in the same order, on all ranks; an element is on one rank only.
  /// Throws: `Error` with `io` when the system refuses (a full disk, a folder that is not there), `bad_argument` when
  /// ranks do not agree or names cannot be.
  virtual WrittenCheckpoint write(const Checkpoint& checkpoint) = 0;

  /// Reads one that was written by any number of ranks. Every element is on one rank then, with its checksum checked.
  /// Throws: `Error` with `bad_input` when it is not a whole checkpoint of `program` in a version that is known.
  virtual Checkpoint read(const std::filesystem::path& file,
                          const std::string& program,
                          const ReadCheckpointOptions& options) = 0;

  /// The newest of the folder that is whole, nothing when there are none at all. Throws: `Error` with `bad_input` that
  /// gives the reason for each when there are some but none is whole.
  virtual std::optional<NewestCheckpoint> read_newest(const std::string& program,
                                                      const ReadCheckpointOptions& options) = 0;
};

}  // namespace plait::data
