// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

#include "plait/data/checkpoints/checkpoint.hpp"
#include "plait/data/checkpoints/hdf5/detail/file_layout.hpp"

namespace plait::data::hdf5::detail {

// Elements out of a checkpoint file, with their checksums checked. Throw `Error`: `bad_input` for a damaged file, `io`.

/// Sets `rank_first` to the elements that each of `ranks` reads: as they were when there were as many ranks, else so
/// that each has about the same number of bytes.
void divide(const std::filesystem::path& file, CollectionLayout& collection, std::uint32_t ranks);

/// Those of `rank` by `rank_first`.
[[nodiscard]] PackedElements read_part(const std::filesystem::path& file,
                                       const CollectionLayout& collection,
                                       Rank rank);

/// Those that `placement` gives to `rank`, wherever in the file.
[[nodiscard]] PackedElements read_placed(const std::filesystem::path& file,
                                         const CollectionLayout& collection,
                                         const CheckpointPlacement& placement,
                                         Rank rank);

}  // namespace plait::data::hdf5::detail
