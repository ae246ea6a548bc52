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

/// A value in a checkpoint beside the elements. Bytes are opaque, such as the state of a random number generator.
using CheckpointValue = std::variant<std::uint64_t, double, std::string, Bytes>;

/// A program's state between two steps: values that are the same on all ranks, and this rank's elements.
struct Checkpoint {
  std::string program;     ///< Its name; checkpoints of another program are refused.
  std::uint64_t step = 0;  ///< Steps done; the newest checkpoint has the most.
  std::map<std::string, CheckpointValue> values;
  std::vector<PackedElements> collections;

  /// The elements of a collection. Throws: `Error` with `bad_input` when there is no such collection, or its type or
  /// shape differs.
  [[nodiscard]] const PackedElements& elements(std::string_view collection,
                                               std::string_view type,
                                               const Shape& shape) const;
  /// A value. Throws: `Error` with `bad_input` when there is no such value, or its type differs.
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

/// A checkpoint that was written.
struct WrittenCheckpoint {
  std::filesystem::path file;
  std::uint64_t elements = 0;  ///< Of all ranks and collections.
  std::uint64_t bytes = 0;     ///< Of the elements of all ranks.
};

/// The rank that gets an element. Must be the same function on all ranks.
using CheckpointPlacement = std::function<Rank(ElementId)>;

struct ReadCheckpointOptions {
  /// For all collections. Without it, elements return to their ranks if the number of ranks is the same; else they are
  /// divided in the order of the file, so that all ranks get about the same number of bytes.
  CheckpointPlacement placement;
};

/// The newest checkpoint that can be read.
struct NewestCheckpoint {
  Checkpoint checkpoint;
  std::filesystem::path file;
  std::vector<std::string> refused;  ///< For each newer one, why it cannot be read.
};

/// The checkpoints of one program in a folder.
///
/// Each rank constructs one over the same ranks. All calls are collective and wait; call them between phases, on the
/// thread that may use the endpoint. An error on one rank is thrown on all ranks.
class CheckpointStore {
 public:
  CheckpointStore() = default;
  CheckpointStore(const CheckpointStore&) = delete;
  CheckpointStore& operator=(const CheckpointStore&) = delete;
  virtual ~CheckpointStore() = default;

  /// Writes a checkpoint, then removes the oldest ones. The file gets its name when it is complete and on the disk, so
  /// that a reader never sees a part. If it cannot be written, the older files stay.
  ///
  /// All ranks have the same collections in the same order; an element is on one rank only. Throws: `Error` with `io`
  /// for errors of the system, such as a full disk, and with `bad_argument` for ranks that differ, and invalid names.
  virtual WrittenCheckpoint write(const Checkpoint& checkpoint) = 0;

  /// Reads a checkpoint of any number of ranks: each element on one rank, and its checksum is checked. Throws: `Error`
  /// with `bad_input` unless it is a complete checkpoint of `program` in a known version.
  virtual Checkpoint read(const std::filesystem::path& file,
                          const std::string& program,
                          const ReadCheckpointOptions& options) = 0;

  /// Reads the newest checkpoint that can be read; returns nothing for a folder without any. Throws: `Error` with
  /// `bad_input` and all reasons when there are some, but none can be read.
  virtual std::optional<NewestCheckpoint> read_newest(const std::string& program,
                                                      const ReadCheckpointOptions& options) = 0;
};

}  // namespace plait::data
