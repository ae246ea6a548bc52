// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <hdf5.h>

#include "plait/files/hdf5/writer.hpp"
#include "plait/particles/hdf5/snapshot.hpp"

namespace plait::particles::hdf5::detail {

/// SWIFT's links to `PartType0`, ...
inline constexpr std::array<const char*, types_max> type_links{"GasParticles",
                                                               "DMParticles",
                                                               "DMBackgroundParticles",
                                                               "SinkParticles",
                                                               "StarsParticles",
                                                               "BHParticles",
                                                               "NeutrinoParticles"};
/// The particles of each rank and type: ranks x types.
inline constexpr const char* ranks_group = "Ranks";
inline constexpr const char* ranks_dataset = "Ranks/Particles";

inline constexpr const char* unit_length = "Unit length in cgs (U_L)";
inline constexpr const char* unit_mass = "Unit mass in cgs (U_M)";
inline constexpr const char* unit_time = "Unit time in cgs (U_t)";
inline constexpr const char* unit_temperature = "Unit temperature in cgs (U_T)";

[[nodiscard]] inline std::string group_of(std::uint32_t type) {
  return fmt::format("PartType{}", type);
}

/// The HDF5 type of a number in memory.
[[nodiscard]] inline hid_t native(Number number) {
  const std::array types{H5T_NATIVE_DOUBLE,
                         H5T_NATIVE_FLOAT,
                         H5T_NATIVE_UINT64,
                         H5T_NATIVE_UINT32,
                         H5T_NATIVE_UINT16,
                         H5T_NATIVE_UINT8,
                         H5T_NATIVE_INT64,
                         H5T_NATIVE_INT32};  // as `Number`
  return types[static_cast<std::size_t>(number)];
}

/// The data sets that every file has, followed by those of the layout.
[[nodiscard]] inline std::vector<Dataset> complete(const SnapshotLayout& layout) {
  std::vector<Dataset> all{
      {"Coordinates",
       Particles::position,
       {.dimension = length_dimension, .description = "Positions of the particles", .scale_exponent = 1}},
      {"ParticleIDs", Particles::id, {.description = "Unique ids of the particles", .valid = Valid::any}},
  };
  all.insert(all.end(), layout.datasets.begin(), layout.datasets.end());
  return all;
}

/// The distribution of a file's particles over ranks.
struct Shares {
  std::array<std::uint64_t, types_max> totals{};  ///< Of each type.
  std::array<std::uint64_t, types_max> firsts{};  ///< Of each type, the index of this rank's first particle.
  std::vector<std::uint64_t> rank_particles;      ///< As in `SnapshotInfo`.
  bool is_first_rank = true;
};

/// The number of particles of each type. Throws: `Error` with `bad_argument` for a kind without a group in files.
[[nodiscard]] std::array<std::uint64_t, types_max> count_types(const Particles& particles);

/// Writes a snapshot to an open file. `header`, `layout` and the totals are equal on all writers.
void write_contents(files::Hdf5Writer& out,
                    const SnapshotHeader& header,
                    const SnapshotLayout& layout,
                    const Particles& particles,
                    const Shares& shares);

}  // namespace plait::particles::hdf5::detail
