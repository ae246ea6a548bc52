// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "plait/comm/collectives/group.hpp"

namespace plait::data::hdf5 {

/// This rank's part of a data set that is contiguous in the file.
struct Slab {
  std::string dataset;              ///< Its path in the file.
  std::uint64_t file_offset = 0;    ///< Of the data set in the file, in bytes.
  std::uint64_t first = 0;          ///< The first item of this rank in the data set.
  std::uint32_t item_bytes = 1;     ///< 1, 4 or 8: the size of an unsigned integer.
  std::uint64_t largest_bytes = 0;  ///< The most bytes that any rank writes of this data set.
  std::span<const std::byte> data;
};

/// Writes the parts of all ranks into an existing file with all its data sets.
///
/// All ranks call `write` with slabs of the same data sets. When it returns, all data are on the disk. Throws: `Error`,
/// on the ranks that failed only; the others do not wait for them.
class SlabWriter {
 public:
  SlabWriter() = default;
  SlabWriter(const SlabWriter&) = delete;
  SlabWriter& operator=(const SlabWriter&) = delete;
  virtual ~SlabWriter() = default;
  virtual void write(const comm::Group& ranks, const std::filesystem::path& file, std::span<const Slab> slabs) = 0;
};

/// Creates a writer that calls `pwrite` on each rank. The file system must let several processes write parts of one
/// file at once, as local ones, Lustre and GPFS do, and NFS does not.
[[nodiscard]] std::unique_ptr<SlabWriter> make_direct_slab_writer();

}  // namespace plait::data::hdf5
