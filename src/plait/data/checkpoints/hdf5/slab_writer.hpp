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
  std::uint64_t file_offset = 0;    ///< Of the data set's first byte in the file.
  std::uint64_t first = 0;          ///< Of this rank's items in the data set.
  std::uint32_t item_bytes = 1;     ///< 1, 4 or 8: of an unsigned number.
  std::uint64_t largest_bytes = 0;  ///< That any rank writes of this data set; the same on all.
  std::span<const std::byte> data;
};

/// How the parts of all ranks come into a file that is there already, with all its data sets.
///
/// Called by all ranks with slabs of the same data sets; has everything on the disk when it returns. Throws `Error` on
/// the ranks that met trouble only, and leaves no rank waiting.
class SlabWriter {
 public:
  SlabWriter() = default;
  SlabWriter(const SlabWriter&) = delete;
  SlabWriter& operator=(const SlabWriter&) = delete;
  virtual ~SlabWriter() = default;
  virtual void write(const comm::Group& ranks, const std::filesystem::path& file, std::span<const Slab> slabs) = 0;
  /// In a word, for reports.
  [[nodiscard]] virtual const char* name() const noexcept = 0;
};

/// Each rank writes its bytes to their places with `pwrite`: needs a file system on which processes may write different
/// parts of a file at once, as local ones, Lustre and GPFS; not NFS with several hosts.
[[nodiscard]] std::unique_ptr<SlabWriter> make_direct_slab_writer();

}  // namespace plait::data::hdf5
