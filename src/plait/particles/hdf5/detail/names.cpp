// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/hdf5/detail/names.hpp"

#include <fmt/format.h>

namespace plait::particles::hdf5::detail {

std::string group_of(std::uint32_t type) {
  return fmt::format("PartType{}", type);
}

hid_t native(Number number) {
  switch (number) {
    case Number::real64:
      return H5T_NATIVE_DOUBLE;
    case Number::real32:
      return H5T_NATIVE_FLOAT;
    case Number::unsigned64:
      return H5T_NATIVE_UINT64;
    case Number::unsigned32:
      return H5T_NATIVE_UINT32;
    case Number::unsigned16:
      return H5T_NATIVE_UINT16;
    case Number::unsigned8:
      return H5T_NATIVE_UINT8;
    case Number::signed64:
      return H5T_NATIVE_INT64;
    case Number::signed32:
      return H5T_NATIVE_INT32;
  }
  return H5I_INVALID_HID;
}

std::uint32_t bytes_of(Number number) {
  return static_cast<std::uint32_t>(H5Tget_size(native(number)));
}

std::vector<Dataset> complete(const Layout& layout) {
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
