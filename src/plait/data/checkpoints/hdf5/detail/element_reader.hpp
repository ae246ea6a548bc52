// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

#include "plait/data/checkpoints/checkpoint.hpp"
#include "plait/data/checkpoints/hdf5/detail/file_layout.hpp"

namespace plait::data::hdf5::detail {

// Read elements of a checkpoint file, and check their checksums. Throw `Error` with `bad_input` for a damaged file, and
// with `io`.

/// Sets `rank_first` for `ranks` ranks: unchanged for the number of ranks that wrote the file, else so that all ranks
/// read about the same number of bytes.
void divide(const std::filesystem::path& file, CollectionLayout& collection, std::uint32_t ranks);

/// Reads the elements of `rank` by `rank_first`.
[[nodiscard]] PackedElements read_part(const std::filesystem::path& file,
                                       const CollectionLayout& collection,
                                       Rank rank);

/// Reads the elements that `placement` gives to `rank`, anywhere in the file.
[[nodiscard]] PackedElements read_placed(const std::filesystem::path& file,
                                         const CollectionLayout& collection,
                                         const CheckpointPlacement& placement,
                                         Rank rank);

}  // namespace plait::data::hdf5::detail
