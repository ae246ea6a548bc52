// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "plait/base/error.hpp"
#include "plait/files/hdf5/writer.hpp"
#include "plait/net/exchange.hpp"

namespace plait::files {

/// The ranks that write one file. `parallel_access`, `in_turn` and each exchange are collective.
class Hdf5Ranks {
 public:
  Hdf5Ranks() = default;
  Hdf5Ranks(const Hdf5Ranks&) = delete;
  Hdf5Ranks& operator=(const Hdf5Ranks&) = delete;
  virtual ~Hdf5Ranks() = default;

  [[nodiscard]] virtual std::uint32_t self() const noexcept = 0;
  [[nodiscard]] virtual std::uint32_t count() const noexcept = 0;
  /// Borrows this.
  [[nodiscard]] virtual net::Exchange exchange() = 0;
  /// Calls `turn` on each rank, by rank, when it has returned on the rank before; not after a rank whose `turn` throws.
  /// Throws: what `turn` throws, on its rank. Cost: one message a rank.
  virtual void in_turn(const std::function<void()>& turn) = 0;
  /// The file access property list for parallel access; empty where HDF5 has none, and ranks open the file in turn.
  [[nodiscard]] virtual Hdf5Handle parallel_access() const { return {}; }
};

/// Writes the contents of a file. Not collective: each rank may run it while others wait.
using WriteContents = std::function<void(Hdf5Writer&)>;

/// Creates `file` by all ranks: every rank creates the same groups, attributes and data sets in the same order, and
/// writes its own slabs.
///
/// The ranks write at once where HDF5 has parallel I/O, else in turn. The file has another name until it is complete
/// (`PartialFile`). The disk must have room for 64 KiB before it is created, and for all of it before it is closed.
/// Collective. Returns the size in bytes. Error: the same on all ranks; names file, object and reason.
/// Nothing is left behind.
[[nodiscard]] Result<std::uint64_t> write_hdf5(const std::filesystem::path& file,
                                               Hdf5Ranks& ranks,
                                               const WriteContents& write);

/// As above, by one process.
[[nodiscard]] Result<std::uint64_t> write_hdf5(const std::filesystem::path& file, const WriteContents& write);

/// Creates `file` by this process, under its own name at once. Throws: `Error` with `io`.
void create_hdf5(const std::filesystem::path& file, const WriteContents& write);

/// Adds to an existing file: by this process, or by all `ranks` at once, which needs parallel I/O for several.
/// Collective. Throws: `Error` with `io`, only on the ranks that failed.
void update_hdf5(const std::filesystem::path& file, const WriteContents& write);
void update_hdf5(const std::filesystem::path& file, Hdf5Ranks& ranks, const WriteContents& write);

}  // namespace plait::files
