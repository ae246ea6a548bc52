// SPDX-License-Identifier: Apache-2.0
#include "dns/output/time_series.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numbers>
#include <system_error>

#include <fmt/format.h>
#include <hdf5.h>

#include "plait/base/error.hpp"
#include "plait/base/hdf5_handle.hpp"

namespace dns {
namespace {

using plait::Hdf5Handle;

/// A number among the attributes of the root; nothing when it is not there.
std::optional<double> number_of(const Hdf5Handle& file, const char* name) {
  const Hdf5Handle attribute{H5Aopen(file.id(), name, H5P_DEFAULT), H5Aclose};
  double value = 0;
  if (!attribute || H5Aread(attribute.id(), H5T_NATIVE_DOUBLE, &value) < 0) {
    return {};
  }
  return value;
}

bool is_single(const Hdf5Handle& file, const std::string& path) {
  const Hdf5Handle set{H5Dopen2(file.id(), path.c_str(), H5P_DEFAULT), H5Dclose};
  const Hdf5Handle type{set ? H5Dget_type(set.id()) : -1, H5Tclose};
  return type && H5Tget_size(type.id()) == sizeof(float);
}

std::string item(const std::string& file, const std::string& path, Precision precision, const std::string& dimensions) {
  return fmt::format(
      "<DataItem Format=\"HDF\" NumberType=\"Float\" Precision=\"{}\" Dimensions=\"{}\">{}:/{}</DataItem>",
      precision == Precision::single ? 4 : 8,
      dimensions,
      file,
      path);
}

}  // namespace

TimeSeries::TimeSeries(std::filesystem::path folder, Contents contents)
    : folder_{std::move(folder)}, contents_{std::move(contents)} {}

void TimeSeries::take_in(std::uint64_t last) {
  const plait::Hdf5Silence silence;
  std::error_code trouble;
  for (const auto& entry : std::filesystem::directory_iterator{folder_, trouble}) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("dns-") || entry.path().extension() != ".h5") {
      continue;
    }
    Hdf5Handle file{H5Fopen(entry.path().c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose};
    if (!file) {
      continue;
    }
    const std::optional<double> step = number_of(file, "step");
    const std::optional<double> time = number_of(file, "time");
    if (!step || !time) {
      continue;
    }
    if (*step > static_cast<double>(last)) {
      (void)file.close();
      std::filesystem::remove(entry.path(), trouble);
      continue;
    }
    const bool has_single = !contents_.fields.empty() && is_single(file, contents_.fields.front());
    entries_.push_back({static_cast<std::uint64_t>(*step), *time, has_single ? Precision::single : Precision::full});
  }
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.step < b.step; });
}

void TimeSeries::add(std::uint64_t step, double time, Precision precision) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.step == step; });
  entries_.push_back({step, time, precision});
  const std::filesystem::path file = folder_ / "dns.xdmf";
  const std::filesystem::path partial = file.string() + ".partial";
  std::error_code trouble;
  if (std::ofstream out{partial}; !(out << text() << std::flush)) {
    std::filesystem::remove(partial, trouble);
    throw plait::Error{plait::ErrorCode::io, fmt::format("{}: cannot be written; is the disk full?", file.string())};
  }
  std::filesystem::rename(partial, file, trouble);
  if (trouble) {
    throw plait::Error{plait::ErrorCode::io, fmt::format("{}: {}", file.string(), trouble.message())};
  }
}

std::string TimeSeries::text() const {
  const auto& n = contents_.lengths;
  const std::string dimensions = fmt::format("{} {} {}", n[2], n[1], n[0]);
  const auto step_along = [&](std::size_t axis) { return 2 * std::numbers::pi / static_cast<double>(n[axis]); };
  std::string text =
      "<?xml version=\"1.0\"?>\n<Xdmf Version=\"3.0\">\n<Domain>\n"
      "<Grid Name=\"plait-dns\" GridType=\"Collection\" CollectionType=\"Temporal\">\n";
  for (const Entry& entry : entries_) {
    const std::string file = field_file({}, entry.step).string();
    text += fmt::format(
        "<Grid Name=\"step {}\" GridType=\"Uniform\">\n<Time Value=\"{}\"/>\n"
        "<Topology TopologyType=\"3DCoRectMesh\" Dimensions=\"{}\"/>\n<Geometry GeometryType=\"ORIGIN_DXDYDZ\">\n"
        "<DataItem Format=\"XML\" NumberType=\"Float\" Precision=\"8\" Dimensions=\"3\">0 0 0</DataItem>\n"
        "<DataItem Format=\"XML\" NumberType=\"Float\" Precision=\"8\" Dimensions=\"3\">{} {} {}</DataItem>\n"
        "</Geometry>\n",
        entry.step,
        entry.time,
        dimensions,
        step_along(2),
        step_along(1),
        step_along(0));
    for (const std::string& field : contents_.fields) {
      if (field.ends_with("/y") || field.ends_with("/z")) {
        continue;  // with x
      }
      if (field.ends_with("/x")) {
        const std::string name = field.substr(0, field.size() - 2);
        text += fmt::format(
            "<Attribute Name=\"{}\" AttributeType=\"Vector\" Center=\"Node\">\n"
            "<DataItem ItemType=\"Function\" Function=\"JOIN($0, $1, $2)\" Dimensions=\"{} 3\">\n{}\n{}\n{}\n"
            "</DataItem>\n</Attribute>\n",
            name,
            dimensions,
            item(file, name + "/x", entry.precision, dimensions),
            item(file, name + "/y", entry.precision, dimensions),
            item(file, name + "/z", entry.precision, dimensions));
      } else {
        text += fmt::format("<Attribute Name=\"{}\" AttributeType=\"Scalar\" Center=\"Node\">\n{}\n</Attribute>\n",
                            field.substr(field.find('/') + 1),
                            item(file, field, entry.precision, dimensions));
      }
    }
    text += "</Grid>\n";
  }
  return text + "</Grid>\n</Domain>\n</Xdmf>\n";
}

}  // namespace dns
