// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plait/base/error.hpp"
#include "plait/files/hdf5/attributes.hpp"
#include "plait/particles/hdf5/layout.hpp"
#include "plait/particles/store/particles.hpp"

namespace plait::particles::hdf5 {

using files::Attributes;

/// The universe of a file in comoving coordinates: flat, with matter and a cosmological constant.
struct Cosmology {
  double scale_factor = 1;
  double hubble = 0;   ///< The rate of expansion today, in 100 km/s/Mpc.
  double matter = 0;   ///< The share of matter today.
  double baryons = 0;  ///< That of baryons, part of it; 0 if the file has none.
  /// Velocities are peculiar ones over the square root of the scale factor, as GADGET stores them, not peculiar ones.
  bool has_gadget_velocities = false;
};

/// The content of a file besides its particles.
struct SnapshotHeader {
  double time = 0;  ///< In the program's units.
  Vector box;       ///< The edges, in the program's units. Readers expect positions in [0, box) of a periodic box.
  std::uint32_t dimensions = 3;
  bool is_periodic = false;
  std::optional<Cosmology> cosmology;  ///< Of an expanding universe.
  std::string code = "plait";          ///< The program.
  std::string run_name = "plait";
  /// The program's own groups, by name: "RunState", "HydroScheme", "Parameters", ...
  std::map<std::string, Attributes> groups;
};

/// The content of a file, without its particles.
struct SnapshotInfo {
  std::string file;
  SnapshotHeader header;
  Units units;                                    ///< Of the file; if it has none, the program's.
  std::array<std::uint64_t, types_max> totals{};  ///< The particles of each type.
  std::vector<std::uint64_t> rank_particles;      ///< Of each type on each writing rank: rank * types_max + type.

  /// Whether as many ranks wrote the file: then each reads its own particles.
  [[nodiscard]] bool is_of_ranks(std::uint32_t ranks) const noexcept {
    return rank_particles.size() == std::size_t{ranks} * types_max;
  }

  /// A group of the header. Throws: `Error` with `bad_input` that names file and group, if there is none.
  [[nodiscard]] const Attributes& group(const std::string& name) const;
};

/// Writes the particles of one process to an HDF5 file in the layout of GADGET and SWIFT snapshots: each kind in its
/// group, in the order of the store. `mpi/snapshot_together.hpp` writes a file by all ranks of a communicator.
///
/// Writes to a temporary name and renames the complete file; an existing file stays whole until then. Returns the size
/// in bytes. Error: names file, data set and reason, and leaves no file.
[[nodiscard]] Result<std::uint64_t> write_snapshot(const std::filesystem::path& file,
                                                   const SnapshotHeader& header,
                                                   const SnapshotLayout& layout,
                                                   const Particles& particles);

/// Reads the share of `rank` and appends it to `particles`, types in ascending order. If as many ranks read as wrote,
/// each gets the particles that it wrote, in the same order within each type.
///
/// Converts numbers to the layout's units. Units of GADGET's cosmological files are over h: lengths, masses and times
/// are divided by it. Does not check for particles at equal positions. Error: also absent data
/// sets, wrong shapes, numbers that are not finite or not positive as required, and duplicate ids within the share;
/// `particles` is unchanged.
[[nodiscard]] Result<SnapshotInfo> read_snapshot(const std::filesystem::path& file,
                                                 const SnapshotLayout& layout,
                                                 Particles& particles,
                                                 std::uint32_t rank = 0,
                                                 std::uint32_t ranks = 1);

}  // namespace plait::particles::hdf5
