// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <hdf5.h>

#include "plait/particles/hdf5/layout.hpp"

namespace plait::particles::hdf5::detail {

/// SWIFT's links to `PartType0`, ...
inline constexpr std::array<const char*, types_max> type_links{"GasParticles",
                                                               "DMParticles",
                                                               "DMBackgroundParticles",
                                                               "SinkParticles",
                                                               "StarsParticles",
                                                               "BHParticles",
                                                               "NeutrinoParticles"};
/// What each rank held of each type: ranks x types.
inline constexpr const char* ranks_group = "Ranks";
inline constexpr const char* ranks_dataset = "Ranks/Particles";

inline constexpr const char* unit_length = "Unit length in cgs (U_L)";
inline constexpr const char* unit_mass = "Unit mass in cgs (U_M)";
inline constexpr const char* unit_time = "Unit time in cgs (U_t)";
inline constexpr const char* unit_temperature = "Unit temperature in cgs (U_T)";

[[nodiscard]] inline std::string group_of(std::uint32_t type) {
  return fmt::format("PartType{}", type);
}

/// How HDF5 calls it, on this machine.
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

/// The layout's data sets with those that are always there before them.
[[nodiscard]] inline std::vector<Dataset> complete(const SnapshotLayout& layout) {
  std::vector<Dataset> all{
      {"Coordinates",
       Particles::position,
       {.dimension = length_dimension, .description = "Positions of the particles"}},
      {"ParticleIDs", Particles::id, {.description = "Unique ids of the particles", .valid = Valid::any}},
  };
  all.insert(all.end(), layout.datasets.begin(), layout.datasets.end());
  return all;
}

}  // namespace plait::particles::hdf5::detail
