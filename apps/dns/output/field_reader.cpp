// SPDX-License-Identifier: Apache-2.0
#include "dns/output/field_reader.hpp"

#include <cmath>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hdf5.h>

#include "plait/base/error.hpp"
#include "plait/base/hdf5_handle.hpp"

namespace dns {
namespace {

using plait::Hdf5Handle;
using plait::fft::Index;
using plait::fft::Layout;

constexpr std::array<const char*, 3> velocity{"velocity/x", "velocity/y", "velocity/z"};

[[noreturn]] void throw_bad(const std::filesystem::path& file, const std::string& what) {
  throw plait::Error{plait::ErrorCode::bad_input, fmt::format("{}: {}", file.string(), what)};
}

Hdf5Handle open(const std::filesystem::path& file) {
  std::error_code trouble;
  if (!std::filesystem::is_regular_file(file, trouble)) {
    throw_bad(file, "there is no such file: give the field's file with --field");
  }
  Hdf5Handle opened{H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose};
  if (!opened) {
    const std::string reason = plait::hdf5_reason();
    if (H5Fis_hdf5(file.c_str()) <= 0) {
      throw_bad(file, "is no HDF5 file, or its beginning is damaged; `h5dump -H` shows what one holds");
    }
    throw_bad(file, fmt::format("cannot be opened: {}; was it copied as a whole?", reason));
  }
  return opened;
}

bool has(const Hdf5Handle& file, const std::string& path) {
  const std::size_t slash = path.find('/');
  const bool has_group =
      slash == std::string::npos || H5Lexists(file.id(), path.substr(0, slash).c_str(), H5P_DEFAULT) > 0;
  return has_group && H5Lexists(file.id(), path.c_str(), H5P_DEFAULT) > 0;
}

std::string axes_of(const Hdf5Handle& file) {
  if (H5Aexists(file.id(), "axes") <= 0) {
    return {};
  }
  const Hdf5Handle attribute{H5Aopen(file.id(), "axes", H5P_DEFAULT), H5Aclose};
  const Hdf5Handle type{H5Aget_type(attribute.id()), H5Tclose};
  if (H5Tis_variable_str(type.id()) > 0) {
    char* text = nullptr;
    std::string found;
    if (H5Aread(attribute.id(), type.id(), &text) >= 0 && text != nullptr) {
      found = text;
      H5free_memory(text);
    }
    return found;
  }
  std::string text(H5Tget_size(type.id()) + 1, '\0');
  (void)H5Aread(attribute.id(), type.id(), text.data());
  return text.c_str();
}

struct SetFacts {
  std::array<hsize_t, 3> extent{};
  Precision precision = Precision::full;
};

SetFacts facts_of(const std::filesystem::path& path, const Hdf5Handle& file, const std::string& name) {
  const Hdf5Handle set{H5Dopen2(file.id(), name.c_str(), H5P_DEFAULT), H5Dclose};
  const Hdf5Handle space{set ? H5Dget_space(set.id()) : -1, H5Sclose};
  if (!space || H5Sget_simple_extent_ndims(space.id()) != 3) {
    throw_bad(path, fmt::format("{} must be a data set of three axes", name));
  }
  SetFacts facts;
  H5Sget_simple_extent_dims(space.id(), facts.extent.data(), nullptr);
  const Hdf5Handle type{H5Dget_type(set.id()), H5Tclose};
  const std::size_t bytes = H5Tget_size(type.id());
  if (H5Tget_class(type.id()) != H5T_FLOAT || (bytes != sizeof(float) && bytes != sizeof(double))) {
    throw_bad(path,
              fmt::format("{} is of {} bytes a value, of a type that is no single or double precision: convert it to "
                          "float64",
                          name,
                          bytes));
  }
  facts.precision = bytes == sizeof(float) ? Precision::single : Precision::full;
  return facts;
}

}  // namespace

FieldReader::FieldReader(std::filesystem::path file) : file_{std::move(file)} {
  const plait::Hdf5Silence silence;
  const Hdf5Handle opened = open(file_);
  std::vector<std::string> missing;
  for (const char* const name : velocity) {
    if (!has(opened, name)) {
      missing.emplace_back(name);
    }
  }
  if (!missing.empty()) {
    throw_bad(file_,
              fmt::format("has no data set {}: a velocity is velocity/x, velocity/y and velocity/z",
                          fmt::join(missing, ", ")));
  }
  const std::string axes = axes_of(opened);
  facts_.has_axes = !axes.empty();
  facts_.is_x_first = axes == "xyz";
  if (facts_.has_axes && axes != "xyz" && axes != "zyx") {
    throw_bad(file_, fmt::format("its attribute axes is '{}': it must be zyx (x runs fastest) or xyz", axes));
  }
  const SetFacts first = facts_of(file_, opened, velocity[0]);
  for (const char* const name : velocity) {
    const SetFacts facts = facts_of(file_, opened, name);
    if (facts.extent != first.extent) {
      throw_bad(file_,
                fmt::format("{} has {} points, but {} has {}",
                            name,
                            fmt::join(facts.extent, " x "),
                            velocity[0],
                            fmt::join(first.extent, " x ")));
    }
    if (facts.precision == Precision::single) {
      facts_.precision = Precision::single;
    }
  }
  for (std::size_t axis = 0; axis < 3; ++axis) {
    facts_.lengths[axis] = static_cast<Index>(first.extent[facts_.is_x_first ? axis : 2 - axis]);
  }
  if (has(opened, "scalars")) {
    const auto note = [](hid_t, const char* name, const H5L_info_t*, void* to) -> herr_t {
      static_cast<std::vector<std::string>*>(to)->emplace_back(name);
      return 0;
    };
    const Hdf5Handle group{H5Gopen2(opened.id(), "scalars", H5P_DEFAULT), H5Gclose};
    H5Literate(group.id(), H5_INDEX_NAME, H5_ITER_INC, nullptr, note, &facts_.scalars);
  }
  for (const std::string& scalar : facts_.scalars) {
    if (facts_of(file_, opened, "scalars/" + scalar).extent != first.extent) {
      throw_bad(file_, fmt::format("scalars/{} and the velocity have different numbers of points", scalar));
    }
  }
}

NotNumbers FieldReader::read(const std::string& name, const Layout& layout, std::span<double> to) const {
  const plait::Hdf5Silence silence;
  NotNumbers bad;
  if (layout.size() == 0) {
    return bad;
  }
  const Hdf5Handle file = open(file_);
  const Hdf5Handle set{H5Dopen2(file.id(), name.c_str(), H5P_DEFAULT), H5Dclose};
  const Hdf5Handle space{set ? H5Dget_space(set.id()) : -1, H5Sclose};
  std::array<hsize_t, 3> first{};
  std::array<hsize_t, 3> count{};
  std::array<Index, 3> stride{};  // of axes x, y, z in what is read
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::size_t place = facts_.is_x_first ? axis : 2 - axis;
    first[place] = static_cast<hsize_t>(layout.box.low[axis]);
    count[place] = static_cast<hsize_t>(layout.box.extent(static_cast<int>(axis)));
  }
  for (std::size_t axis = 0; axis < 3; ++axis) {
    stride[axis] = 1;
    for (std::size_t after = (facts_.is_x_first ? axis : 2 - axis) + 1; after < 3; ++after) {
      stride[axis] *= static_cast<Index>(count[after]);
    }
  }
  std::vector<double> values(static_cast<std::size_t>(layout.size()));
  const Hdf5Handle memory{H5Screate_simple(3, count.data(), nullptr), H5Sclose};
  if (H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, first.data(), nullptr, count.data(), nullptr) < 0 ||
      H5Dread(set.id(), H5T_NATIVE_DOUBLE, memory.id(), space.id(), H5P_DEFAULT, values.data()) < 0) {
    throw_bad(file_, fmt::format("cannot read {}: {}; was it copied as a whole?", name, plait::hdf5_reason()));
  }
  const plait::fft::Box& box = layout.box;
  for (Index x = box.low[0]; x < box.high[0]; ++x) {
    for (Index y = box.low[1]; y < box.high[1]; ++y) {
      for (Index z = box.low[2]; z < box.high[2]; ++z) {
        const double value = values[static_cast<std::size_t>(
            (x - box.low[0]) * stride[0] + (y - box.low[1]) * stride[1] + (z - box.low[2]) * stride[2])];
        if (!std::isfinite(value) && bad.count++ == 0) {
          bad.first = {x, y, z};
        }
        to[static_cast<std::size_t>(layout.offset(x, y, z))] = value;
      }
    }
  }
  return bad;
}

}  // namespace dns
