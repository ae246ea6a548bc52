// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "plait/base/error.hpp"
#include "plait/files/hdf5/attributes.hpp"
#include "plait/particles/hdf5/layout.hpp"
#include "plait/particles/store/particles.hpp"

namespace plait::particles::hdf5 {

using files::Attributes;

/// What a file holds besides its particles.
struct SnapshotHeader {
  double time = 0;  ///< In the program's units.
  Vector box;       ///< Edges, in the program's units. Readers expect positions in [0, box) where that is periodic.
  std::uint32_t dimensions = 3;
  bool is_periodic = false;
  std::string code = "plait";  ///< The program.
  std::string run_name = "plait";
  /// Groups of the program's own, by name: "RunState", "HydroScheme", "Parameters", ...
  std::map<std::string, Attributes> groups;
};

/// What a file holds, found without reading particles.
struct SnapshotInfo {
  std::string file;
  SnapshotHeader header;
  Units units;                                    ///< Of the file; if it names none, the program's.
  std::array<std::uint64_t, types_max> totals{};  ///< Particles of each type.
  std::vector<std::uint64_t> rank_particles;      ///< Of each type on each rank that wrote: rank * types_max + type.

  /// One of the groups in the header. Throws: `Error` with `bad_input` that names file and group, when it is not there.
  [[nodiscard]] const Attributes& group(const std::string& name) const;
};

/// Writes the particles of one process to one HDF5 file in the layout of GADGET and SWIFT snapshots, in the order of
/// the store, each kind in its group.
///
/// The file is written under another name and renamed when it is complete: an existing one stays whole until then.
/// Returns its size in bytes. Error: names file, data set and reason; nothing is left behind. By all ranks of a
/// communicator: `mpi/snapshot_together.hpp`.
[[nodiscard]] Result<std::uint64_t> write_snapshot(const std::filesystem::path& file,
                                                   const SnapshotHeader& header,
                                                   const SnapshotLayout& layout,
                                                   const Particles& particles);

/// Reads everything but the particles. Error: names file and what is wrong: missing or cut file, no header, another
/// number of files, a cosmological run (whose lengths grow with time).
[[nodiscard]] Result<SnapshotInfo> read_snapshot_info(const std::filesystem::path& file, const SnapshotLayout& layout);

/// Reads the share of `rank` and appends it to `particles`, types in ascending order; as many ranks as had written get
/// what they held, in the same order within each type.
///
/// Numbers in other units than the layout's are converted. Error: also absent or misshapen data sets, numbers that
/// are not finite or not positive where they must be, ids that occur twice (within the share); `particles` is as it
/// was. Particles at the same place are no error here.
[[nodiscard]] Result<SnapshotInfo> read_snapshot(const std::filesystem::path& file,
                                                 const SnapshotLayout& layout,
                                                 Particles& particles,
                                                 std::uint32_t rank = 0,
                                                 std::uint32_t ranks = 1);

}  // namespace plait::particles::hdf5
