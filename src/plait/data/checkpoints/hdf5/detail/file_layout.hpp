// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "plait/data/checkpoints/checkpoint.hpp"

namespace plait::data::hdf5::detail {

// docs/how-to/checkpoints.md describes the format. Only these functions call HDF5, on rank 0; the other ranks receive
// the offsets of the data sets.

inline constexpr std::uint64_t format_version = 1;

struct CollectionLayout {
  std::string name;
  std::string type;
  std::vector<std::uint64_t> extents;
  std::uint64_t bytes = 0;                ///< Of all elements.
  std::vector<std::uint64_t> rank_first;  ///< Each rank's first element; last, their number.
  std::vector<std::uint64_t> rank_bytes;  ///< Of each rank's elements; only when writing.
  // Offsets in the file; 0 for an empty data set.
  std::uint64_t ids_at = 0;
  std::uint64_t offsets_at = 0;
  std::uint64_t checksums_at = 0;
  std::uint64_t bytes_at = 0;

  [[nodiscard]] std::uint64_t count() const { return rank_first.back(); }
  [[nodiscard]] std::string path(const char* dataset) const { return "/collections/" + name + "/" + dataset; }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(name, type, extents, bytes, rank_first, rank_bytes, ids_at, offsets_at, checksums_at, bytes_at);
  }
};

/// All but the elements.
struct FileLayout {
  std::string program;
  std::uint64_t step = 0;
  std::map<std::string, CheckpointValue> values;
  std::vector<CollectionLayout> collections;
  std::uint64_t end = 0;  ///< The end of the last data set.

  /// An upper bound of the size of the file.
  [[nodiscard]] std::uint64_t file_bytes_max() const;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(program, step, values, collections, end);
  }
};

/// Creates the file with all its data sets, unfilled, and sets their offsets. Throws: `Error` with `io`.
void create_file(const std::filesystem::path& file, FileLayout& layout);

/// Marks a file as complete. Throws: `Error` with `io`.
void mark_complete(const std::filesystem::path& file);

/// Reads all but the elements. Throws: `Error` with `bad_input` when the file is not a complete checkpoint.
[[nodiscard]] FileLayout read_layout(const std::filesystem::path& file);

/// The CRC-32 of zlib over the id, as 8 bytes in little-endian order, and the element's bytes.
[[nodiscard]] std::uint32_t checksum(ElementId id, std::span<const std::byte> element);

}  // namespace plait::data::hdf5::detail
