// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/hdf5/detail/file_reader.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "plait/particles/hdf5/detail/names.hpp"

namespace plait::particles::hdf5::detail {
namespace {

std::string text_of(hid_t attribute, hid_t type) {
  if (H5Tis_variable_str(type) > 0) {
    char* text = nullptr;
    std::string copy;
    if (H5Aread(attribute, type, static_cast<void*>(&text)) >= 0 && text != nullptr) {
      copy = text;
      H5free_memory(text);
    }
    return copy;
  }
  std::string text(H5Tget_size(type), '\0');
  if (H5Aread(attribute, type, text.data()) < 0) {
    text.clear();
  }
  text.resize(std::min(text.find('\0'), text.size()));
  return text;
}

/// Names that `iterate(callback, &names)` calls with.
template <class Iterate>
std::vector<std::string> names_by(Iterate iterate) {
  std::vector<std::string> names;
  iterate(&names);
  return names;
}

}  // namespace

FileReader::FileReader(const std::filesystem::path& file) : name_{file.string()} {
  std::error_code trouble;
  if (!std::filesystem::exists(file, trouble)) {
    throw Error{ErrorCode::io, fmt::format("{}: there is no such file", name_)};
  }
  file_ = {H5Fopen(name_.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose};
  if (!file_) {
    throw Error{ErrorCode::bad_input,
                fmt::format("{}: not an HDF5 file, or cut short, or not readable: {}", name_, hdf5_reason())};
  }
}

void FileReader::fail(const std::string& what) const {
  throw Error{ErrorCode::bad_input, fmt::format("{}: {}", name_, what)};
}

bool FileReader::exists(const std::string& path) const {
  for (std::size_t end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1)) {
    if (H5Lexists(file_.id(), path.substr(0, end).c_str(), H5P_DEFAULT) <= 0) {
      return false;
    }
  }
  return H5Lexists(file_.id(), path.c_str(), H5P_DEFAULT) > 0;
}

std::optional<Attributes::Value> FileReader::value_of(hid_t attribute) const {
  const Hdf5Handle type{H5Aget_type(attribute), H5Tclose};
  const Hdf5Handle space{H5Aget_space(attribute), H5Sclose};
  const auto n = static_cast<std::size_t>(std::max<hssize_t>(H5Sget_simple_extent_npoints(space.id()), 0));
  const H5T_class_t kind = H5Tget_class(type.id());
  if (kind == H5T_STRING && n == 1) {
    return text_of(attribute, type.id());
  }
  const auto numbers = [&]<class T>(hid_t memory_type, T) -> std::optional<Attributes::Value> {
    std::vector<T> all(n);
    if (n > 0 && H5Aread(attribute, memory_type, all.data()) < 0) {
      return std::nullopt;
    }
    if (n == 1) {
      return all.front();
    }
    return all;
  };
  if (kind == H5T_FLOAT) {
    return numbers(H5T_NATIVE_DOUBLE, double{});
  }
  if (kind == H5T_INTEGER) {
    return numbers(H5T_NATIVE_UINT64, std::uint64_t{});
  }
  return std::nullopt;
}

Attributes FileReader::attributes(const std::string& group) const {
  const Hdf5Handle at{H5Oopen(file_.id(), group.c_str(), H5P_DEFAULT), H5Oclose};
  if (!at) {
    fail(fmt::format("has no group {}", group));
  }
  const auto keep = [](hid_t, const char* name, const H5A_info_t*, void* to) -> herr_t {
    static_cast<std::vector<std::string>*>(to)->emplace_back(name);
    return 0;
  };
  Attributes values{fmt::format("{}: {}", name_, group)};
  for (const std::string& key :
       names_by([&](auto* names) { H5Aiterate2(at.id(), H5_INDEX_NAME, H5_ITER_INC, nullptr, keep, names); })) {
    const Hdf5Handle attribute{H5Aopen(at.id(), key.c_str(), H5P_DEFAULT), H5Aclose};
    if (attribute) {
      if (const auto value = value_of(attribute.id())) {
        std::visit([&](const auto& v) { values.set(key, v); }, *value);
      }
    }
  }
  return values;
}

Units FileReader::units(const Units& otherwise) const {
  const auto group = exists("Units") ? "Units" : exists("InternalCodeUnits") ? "InternalCodeUnits" : nullptr;
  if (group == nullptr) {
    return otherwise;
  }
  const Attributes values = attributes(group);
  Units units;
  values.get(unit_length, units.length);
  values.get(unit_mass, units.mass);
  values.get(unit_time, units.time);
  if (values.contains(unit_temperature)) {
    values.get(unit_temperature, units.temperature);
  }
  for (const double unit : {units.length, units.mass, units.time, units.temperature}) {
    if (!(unit > 0) || !std::isfinite(unit)) {
      fail(fmt::format("{} holds a unit of {}, where all must be positive", group, unit));
    }
  }
  return units;
}

void FileReader::totals(const Attributes& header, SnapshotInfo& info) const {
  const auto low = header.get<std::vector<std::uint64_t>>("NumPart_Total");
  const auto high = header.contains("NumPart_Total_HighWord")
                        ? header.get<std::vector<std::uint64_t>>("NumPart_Total_HighWord")
                        : std::vector<std::uint64_t>{};
  for (std::size_t type = 0; type < std::min<std::size_t>(low.size(), types_max); ++type) {
    const bool is_split = type < high.size() && (low[type] >> 32U) == 0;
    info.totals[type] = low[type] + (is_split ? high[type] << 32U : 0);
  }
  const bool is_virtual = header.contains("Virtual") && header.get<std::uint64_t>("Virtual") != 0;
  const std::uint64_t files =
      header.contains("NumFilesPerSnapshot") ? header.get<std::uint64_t>("NumFilesPerSnapshot") : 1;
  if (files > 1 && !is_virtual) {
    fail(fmt::format("one of {} files of a snapshot; only a snapshot in one file, or a virtual one, is read", files));
  }
}

void FileReader::rank_particles(SnapshotInfo& info) const {
  if (!exists(ranks_dataset)) {
    return;
  }
  const Hdf5Handle set{H5Dopen2(file_.id(), ranks_dataset, H5P_DEFAULT), H5Dclose};
  const Hdf5Handle space{H5Dget_space(set.id()), H5Sclose};
  info.rank_particles.resize(static_cast<std::size_t>(std::max<hssize_t>(H5Sget_simple_extent_npoints(space.id()), 0)));
  if (H5Dread(set.id(), H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, info.rank_particles.data()) < 0) {
    fail(fmt::format("data set {} cannot be read: {}", ranks_dataset, hdf5_reason()));
  }
  std::array<std::uint64_t, types_max> sums{};
  for (std::size_t i = 0; i < info.rank_particles.size(); ++i) {
    sums[i % types_max] += info.rank_particles[i];
  }
  if (info.rank_particles.size() % types_max != 0 || sums != info.totals) {
    fail(fmt::format("{} says that ranks held other numbers of particles than there are here", ranks_dataset));
  }
}

void FileReader::programs_groups(SnapshotInfo& info) const {
  const auto keep = [](hid_t, const char* name, const H5L_info_t* link, void* to) -> herr_t {
    if (link->type == H5L_TYPE_HARD) {
      static_cast<std::vector<std::string>*>(to)->emplace_back(name);
    }
    return 0;
  };
  const std::set<std::string> ours{"Header", "Units", "InternalCodeUnits", "Cosmology", ranks_group};
  for (const std::string& name :
       names_by([&](auto* names) { H5Literate(file_.id(), H5_INDEX_NAME, H5_ITER_INC, nullptr, keep, names); })) {
    if (!ours.contains(name) && !name.starts_with("PartType")) {
      info.header.groups.emplace(name, attributes(name));
    }
  }
}

SnapshotInfo FileReader::info(const Layout& layout) const {
  SnapshotInfo info;
  info.file = name_;
  const Attributes header = attributes("Header");
  info.units = units(layout.units);
  totals(header, info);
  if (exists("Cosmology")) {
    const Attributes cosmology = attributes("Cosmology");
    if (cosmology.contains("Cosmological run") && cosmology.get<double>("Cosmological run") != 0) {
      fail("of a cosmological run, in lengths that grow with time; only files of runs without expansion are read");
    }
  }
  const double length = conversion(info.units, layout.units, length_dimension);
  if (header.contains("Time")) {
    info.header.time = header.get<double>("Time") * conversion(info.units, layout.units, time_dimension);
  }
  if (header.contains("BoxSize")) {
    auto box = header.get<std::vector<double>>("BoxSize");
    box.resize(3, box.empty() ? 0.0 : box.back());
    info.header.box = length * Vector{box[0], box[1], box[2]};
  }
  if (header.contains("Dimension")) {
    header.get("Dimension", info.header.dimensions);
  }
  const auto text = [](const Attributes& from, const char* key, std::string& to) {
    const auto found = from.values().find(key);
    if (found != from.values().end() && std::holds_alternative<std::string>(found->second)) {
      to = std::get<std::string>(found->second);
    }
  };
  text(header, "Code", info.header.code);
  text(header, "RunName", info.header.run_name);
  if (exists("Code")) {
    text(attributes("Code"), "Code", info.header.code);
  }
  if (exists("RuntimePars")) {
    const Attributes runtime = attributes("RuntimePars");
    info.header.is_periodic =
        runtime.contains("PeriodicBoundariesOn") && runtime.get<double>("PeriodicBoundariesOn") != 0;
  }
  rank_particles(info);
  programs_groups(info);
  return info;
}

void FileReader::fill_from_mass_table(const SnapshotInfo& info,
                                      const Dataset& dataset,
                                      const Target& target,
                                      Particles& into) const {
  const Attributes header = attributes("Header");
  const auto masses =
      header.contains("MassTable") ? header.get<std::vector<double>>("MassTable") : std::vector<double>{};
  const double mass = target.type < masses.size() ? masses[target.type] : 0;
  if (!(mass > 0) || !std::isfinite(mass)) {
    fail(fmt::format("data set {}/{} is missing, and MassTable in the header has no mass for it",
                     group_of(target.type),
                     dataset.name));
  }
  static_cast<void>(info);
  std::byte* const to = into.bytes_of(dataset.field).data() + target.place * dataset.field.bytes;
  if (dataset.number == Number::real64) {
    std::fill_n(reinterpret_cast<double*>(to), target.slab.count * dataset.width, mass);
  } else if (dataset.number == Number::real32) {
    std::fill_n(reinterpret_cast<float*>(to), target.slab.count * dataset.width, static_cast<float>(mass));
  }
}

template <class Real>
void FileReader::convert(const Dataset& dataset, const Target& target, double factor, Particles& into) const {
  auto* const values =
      reinterpret_cast<Real*>(into.bytes_of(dataset.field).data() + target.place * dataset.field.bytes);
  for (std::uint64_t i = 0; i < target.slab.count * dataset.width; ++i) {
    if (factor != 1) {
      values[i] = static_cast<Real>(values[i] * factor);
    }
    const bool is_good = dataset.traits.valid == Valid::any ||
                         (std::isfinite(values[i]) && (dataset.traits.valid == Valid::finite || values[i] > 0));
    if (!is_good) {
      fail(fmt::format("data set {}/{} holds {} at row {}{}",
                       group_of(target.type),
                       dataset.name,
                       values[i],
                       target.slab.first + i / dataset.width,
                       dataset.traits.valid == Valid::positive ? "; it must be positive" : ""));
    }
  }
}

void FileReader::column(
    const SnapshotInfo& info, const Dataset& dataset, const Target& target, const Units& to, Particles& into) const {
  const std::string path = fmt::format("{}/{}", group_of(target.type), dataset.name);
  if (!exists(path)) {
    if (dataset.traits.absent == Absent::refused) {
      fail(fmt::format("data set {} is missing", path));
    }
    if (dataset.traits.absent == Absent::zero) {
      return;
    }
    fill_from_mass_table(info, dataset, target, into);
  } else {
    const Hdf5Handle set{H5Dopen2(file_.id(), path.c_str(), H5P_DEFAULT), H5Dclose};
    const Hdf5Handle space{H5Dget_space(set.id()), H5Sclose};
    std::array<hsize_t, H5S_MAX_RANK> shape{};
    const int rank = H5Sget_simple_extent_dims(space.id(), shape.data(), nullptr);
    const bool fits = rank == 2 ? shape[1] == dataset.width : rank == 1 && dataset.width == 1;
    if (!fits) {
      fail(fmt::format("data set {} has the wrong shape; rows of {} numbers are wanted", path, dataset.width));
    }
    if (shape[0] != target.total) {
      fail(fmt::format("data set {} has {} rows where the header counts {} particles", path, shape[0], target.total));
    }
    const std::array<hsize_t, 2> begin{target.slab.first, 0};
    const std::array<hsize_t, 2> count{target.slab.count, dataset.width};
    const Hdf5Handle memory{H5Screate_simple(rank, count.data(), nullptr), H5Sclose};
    H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, begin.data(), nullptr, count.data(), nullptr);
    std::byte* const values = into.bytes_of(dataset.field).data() + target.place * dataset.field.bytes;
    if (H5Dread(set.id(), native(dataset.number), memory.id(), space.id(), H5P_DEFAULT, values) < 0) {
      fail(fmt::format("data set {} cannot be read: {}", path, hdf5_reason()));
    }
  }
  const double factor = conversion(info.units, to, dataset.traits.dimension);
  if (dataset.number == Number::real64) {
    convert<double>(dataset, target, factor, into);
  } else if (dataset.number == Number::real32) {
    convert<float>(dataset, target, factor, into);
  }
}

void FileReader::particles(const SnapshotInfo& info,
                           const Layout& layout,
                           const std::array<Slab, types_max>& shares,
                           Particles& particles) const {
  const std::vector<Dataset> datasets = complete(layout);
  for (std::uint32_t type = 0; type < types_max; ++type) {
    if (info.totals[type] == 0 || (layout.kinds & kind_bit(type)) == 0) {
      continue;
    }
    const Target target{type, shares[type], info.totals[type], particles.add(shares[type].count)};
    std::fill_n(particles[Particles::kind].begin() + static_cast<std::ptrdiff_t>(target.place),
                target.slab.count,
                static_cast<std::uint8_t>(type));
    for (const Dataset& dataset : datasets) {
      if ((dataset.traits.kinds & kind_bit(type)) != 0) {
        column(info, dataset, target, layout.units, particles);
      }
    }
  }
}

}  // namespace plait::particles::hdf5::detail
