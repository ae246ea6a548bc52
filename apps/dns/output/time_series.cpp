// SPDX-License-Identifier: Apache-2.0
#include "dns/output/time_series.hpp"

#include <algorithm>
#include <fstream>
#include <numbers>
#include <system_error>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/files/hdf5/reader.hpp"
#include "plait/files/partial_file.hpp"

namespace dns {
namespace {

std::string item(const std::string& file, const std::string& path, Precision precision, const std::string& dimensions) {
  return fmt::format(
      "<DataItem Format=\"HDF\" NumberType=\"Float\" Precision=\"{}\" Dimensions=\"{}\">{}:/{}</DataItem>",
      precision == Precision::single ? 4 : 8,
      dimensions,
      file,
      path);
}

}  // namespace

TimeSeries::TimeSeries(std::filesystem::path folder,
                       const std::array<plait::fft::Index, 3>& lengths,
                       std::vector<std::string> fields)
    : folder_{std::move(folder)}, lengths_{lengths}, fields_{std::move(fields)} {}

void TimeSeries::take_in(std::uint64_t last) {
  const plait::files::Hdf5Silence silence;
  std::error_code trouble;
  for (const auto& entry : std::filesystem::directory_iterator{folder_, trouble}) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("dns-") || entry.path().extension() != ".h5") {
      continue;
    }
    try {
      const Entry found = read_entry(entry.path());
      if (found.step > last) {
        std::filesystem::remove(entry.path(), trouble);
      } else {
        entries_.push_back(found);
      }
    } catch (const plait::Error&) {  // another program's file
    }
  }
  std::ranges::sort(entries_, {}, &Entry::step);
}

TimeSeries::Entry TimeSeries::read_entry(const std::filesystem::path& file) const {
  const plait::files::Hdf5Reader in{file};
  const plait::files::Attributes root = in.attributes("/");
  const bool is_single = !fields_.empty() && in.facts(fields_.front()).item_bytes == sizeof(float);
  return {root.get<std::uint64_t>("step"), root.get<double>("time"), is_single ? Precision::single : Precision::full};
}

void TimeSeries::add(std::uint64_t step, double time, Precision precision) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.step == step; });
  entries_.push_back({step, time, precision});
  const std::filesystem::path file = folder_ / "dns.xdmf";
  plait::files::PartialFile partial{file};
  if (std::ofstream out{partial.path()}; !(out << text() << std::flush)) {
    throw plait::Error{plait::ErrorCode::io, fmt::format("{}: cannot be written; is the disk full?", file.string())};
  }
  partial.complete();
}

std::string TimeSeries::text() const {
  const auto& n = lengths_;
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
    for (const std::string& field : fields_) {
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
