// SPDX-License-Identifier: Apache-2.0
#include "dns/output/field_reader.hpp"

#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plait/base/error.hpp"
#include "plait/files/hdf5/reader.hpp"

namespace dns {
namespace {

using plait::fft::Index;
using Layout = plait::fft::ArrayLayout;
using plait::files::Hdf5Reader;

constexpr std::array<const char*, 3> velocity{"velocity/x", "velocity/y", "velocity/z"};

Hdf5Reader open(const std::filesystem::path& file) {
  try {
    return Hdf5Reader{file};
  } catch (const plait::Error& error) {
    throw plait::Error{
        plait::ErrorCode::bad_input,
        fmt::format("{}; give the field's file with --field (`h5dump -H` shows what one holds)", error.what())};
  }
}

Hdf5Reader::Facts facts_of(const Hdf5Reader& file, const std::string& name) {
  Hdf5Reader::Facts facts = file.facts(name);
  if (facts.extents.size() != 3) {
    file.fail(fmt::format("{} must be a data set of three axes", name));
  }
  if (facts.kind != H5T_FLOAT || (facts.item_bytes != sizeof(float) && facts.item_bytes != sizeof(double))) {
    file.fail(
        fmt::format("{} is of {} bytes a value, of a type that is neither single nor double precision: convert it to "
                    "float64",
                    name,
                    facts.item_bytes));
  }
  return facts;
}

}  // namespace

FieldReader::FieldReader(std::filesystem::path file) : file_{std::move(file)} {
  const plait::files::Hdf5Silence silence;
  const Hdf5Reader opened = open(file_);
  std::vector<std::string> missing;
  for (const char* const name : velocity) {
    if (!opened.exists(name)) {
      missing.emplace_back(name);
    }
  }
  if (!missing.empty()) {
    opened.fail(fmt::format("has no data set {}: a velocity is velocity/x, velocity/y and velocity/z",
                            fmt::join(missing, ", ")));
  }
  const plait::files::Attributes root = opened.attributes("/");
  const std::string axes = root.contains("axes") ? root.get<std::string>("axes") : "";
  facts_.has_axes = !axes.empty();
  facts_.is_x_first = axes == "xyz";
  if (facts_.has_axes && axes != "xyz" && axes != "zyx") {
    opened.fail(fmt::format("its attribute axes is '{}': it must be zyx (x runs fastest) or xyz", axes));
  }
  const Hdf5Reader::Facts first = facts_of(opened, velocity[0]);
  for (const char* const name : velocity) {
    const Hdf5Reader::Facts facts = facts_of(opened, name);
    if (facts.extents != first.extents) {
      opened.fail(fmt::format("{} has {} points, but {} has {}",
                              name,
                              fmt::join(facts.extents, " x "),
                              velocity[0],
                              fmt::join(first.extents, " x ")));
    }
    if (facts.item_bytes == sizeof(float)) {
      facts_.precision = Precision::single;
    }
  }
  for (std::size_t axis = 0; axis < 3; ++axis) {
    facts_.lengths[axis] = static_cast<Index>(first.extents[facts_.is_x_first ? axis : 2 - axis]);
  }
  if (opened.exists("scalars")) {
    facts_.scalars = opened.names_in("scalars");
  }
  for (const std::string& scalar : facts_.scalars) {
    if (facts_of(opened, "scalars/" + scalar).extents != first.extents) {
      opened.fail(fmt::format("scalars/{} and the velocity have different numbers of points", scalar));
    }
  }
}

NotNumbers FieldReader::read(const std::string& name, const Layout& layout, std::span<double> to) const {
  const plait::files::Hdf5Silence silence;
  NotNumbers bad;
  if (layout.size() == 0) {
    return bad;
  }
  const plait::fft::IndexBox& box = layout.box;
  std::vector<hsize_t> first(3);
  std::vector<hsize_t> count(3);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::size_t place = facts_.is_x_first ? axis : 2 - axis;
    first[place] = static_cast<hsize_t>(box.low[axis]);
    count[place] = static_cast<hsize_t>(box.extent(static_cast<int>(axis)));
  }
  const std::array<Index, 3> stride =  // of axes x, y, z in what is read
      facts_.is_x_first ? std::array<Index, 3>{box.extent(1) * box.extent(2), box.extent(2), 1}
                        : std::array<Index, 3>{1, box.extent(0), box.extent(0) * box.extent(1)};
  std::vector<double> values(static_cast<std::size_t>(layout.size()));
  open(file_).read(name, first, count, H5T_NATIVE_DOUBLE, values.data());
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
