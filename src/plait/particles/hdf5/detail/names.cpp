// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/hdf5/detail/names.hpp"

#include <fmt/format.h>

namespace plait::particles::hdf5::detail {

std::string group_of(std::uint32_t type) {
  return fmt::format("PartType{}", type);
}

hid_t native(Number number) {
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

std::vector<Dataset> complete(const SnapshotLayout& layout) {
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
