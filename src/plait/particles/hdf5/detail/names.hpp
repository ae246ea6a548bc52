// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

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

[[nodiscard]] std::string group_of(std::uint32_t type);
/// How HDF5 calls it, on this machine.
[[nodiscard]] hid_t native(Number number);
/// The layout's data sets with those that are always there before them.
[[nodiscard]] std::vector<Dataset> complete(const SnapshotLayout& layout);

}  // namespace plait::particles::hdf5::detail
