// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/hdf5/detail/file_reader.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "plait/particles/hdf5/detail/names.hpp"

namespace plait::particles::hdf5::detail {
namespace {

Units read_units(const files::Hdf5Reader& in, const Units& otherwise) {
  const auto group = in.exists("Units") ? "Units" : in.exists("InternalCodeUnits") ? "InternalCodeUnits" : nullptr;
  if (group == nullptr) {
    return otherwise;
  }
  const Attributes values = in.attributes(group);
  Units units;
  values.get(unit_length, units.length);
  values.get(unit_mass, units.mass);
  values.get(unit_time, units.time);
  if (values.contains(unit_temperature)) {
    values.get(unit_temperature, units.temperature);
  }
  for (const double unit : {units.length, units.mass, units.time, units.temperature}) {
    if (!(unit > 0) || !std::isfinite(unit)) {
      in.fail(fmt::format("{} holds a unit of {}, where all must be positive", group, unit));
    }
  }
  return units;
}

void read_totals(const files::Hdf5Reader& in, const Attributes& header, SnapshotInfo& info) {
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
    in.fail(
        fmt::format("one of {} files of a snapshot; only a snapshot in one file, or a virtual one, is read", files));
  }
}

void read_rank_particles(const files::Hdf5Reader& in, SnapshotInfo& info) {
  if (!in.exists(ranks_dataset)) {
    return;
  }
  info.rank_particles.resize(in.facts(ranks_dataset).count);
  in.read(ranks_dataset, H5T_NATIVE_UINT64, info.rank_particles.data());
  std::array<std::uint64_t, types_max> sums{};
  for (std::size_t i = 0; i < info.rank_particles.size(); ++i) {
    sums[i % types_max] += info.rank_particles[i];
  }
  if (info.rank_particles.size() % types_max != 0 || sums != info.totals) {
    in.fail(fmt::format("{} holds other numbers of particles than the header", ranks_dataset));
  }
}

void read_programs_groups(const files::Hdf5Reader& in, SnapshotInfo& info) {
  const std::set<std::string> ours{"Header", "Units", "InternalCodeUnits", "Cosmology", ranks_group};
  for (const std::string& name : in.names_in("/", files::Hdf5Reader::Links::hard)) {
    if (!ours.contains(name) && !name.starts_with("PartType")) {
      info.header.groups.emplace(name, in.attributes(name));
    }
  }
}

/// Reads the data sets of one file.
class ColumnReader {
 public:
  ColumnReader(const files::Hdf5Reader& in, const SnapshotInfo& info, const SnapshotLayout& layout, Particles& into)
      : in_{in}, info_{info}, layout_{layout}, into_{into} {}

  /// Particles of one type, and where they go.
  struct Target {
    std::uint32_t type = 0;
    SnapshotSlab slab;
    std::uint64_t total = 0;
    std::size_t place = 0;  ///< In the store.
  };
  void read(const Dataset& dataset, const Target& target) const;

 private:
  void fill_from_mass_table(const Dataset& dataset, const Target& target) const;
  /// Converts reals in place and checks them.
  template <class Real>
  void convert(const Dataset& dataset, const Target& target) const;
  [[nodiscard]] std::byte* memory_of(const Dataset& dataset, const Target& target) const {
    return into_.bytes_of(dataset.field).data() + target.place * dataset.field.bytes;
  }

  const files::Hdf5Reader& in_;
  const SnapshotInfo& info_;
  const SnapshotLayout& layout_;
  Particles& into_;
};

void ColumnReader::fill_from_mass_table(const Dataset& dataset, const Target& target) const {
  const Attributes header = in_.attributes("Header");
  const auto masses =
      header.contains("MassTable") ? header.get<std::vector<double>>("MassTable") : std::vector<double>{};
  const double mass = target.type < masses.size() ? masses[target.type] : 0;
  if (!(mass > 0) || !std::isfinite(mass)) {
    in_.fail(fmt::format("data set {}/{} is missing, and MassTable in the header has no mass for it",
                         group_of(target.type),
                         dataset.name));
  }
  std::byte* const to = memory_of(dataset, target);
  if (dataset.number == Number::real64) {
    std::fill_n(reinterpret_cast<double*>(to), target.slab.count * dataset.width, mass);
  } else if (dataset.number == Number::real32) {
    std::fill_n(reinterpret_cast<float*>(to), target.slab.count * dataset.width, static_cast<float>(mass));
  }
}

template <class Real>
void ColumnReader::convert(const Dataset& dataset, const Target& target) const {
  const double factor = conversion(info_.units, layout_.units, dataset.traits.dimension);
  auto* const values = reinterpret_cast<Real*>(memory_of(dataset, target));
  for (std::uint64_t i = 0; i < target.slab.count * dataset.width; ++i) {
    if (factor != 1) {
      values[i] = static_cast<Real>(values[i] * factor);
    }
    const bool is_good = dataset.traits.valid == Valid::any ||
                         (std::isfinite(values[i]) && (dataset.traits.valid == Valid::finite || values[i] > 0));
    if (!is_good) {
      in_.fail(fmt::format("data set {}/{} holds {} at row {}{}",
                           group_of(target.type),
                           dataset.name,
                           values[i],
                           target.slab.first + i / dataset.width,
                           dataset.traits.valid == Valid::positive ? "; it must be positive" : ""));
    }
  }
}

void ColumnReader::read(const Dataset& dataset, const Target& target) const {
  const std::string path = fmt::format("{}/{}", group_of(target.type), dataset.name);
  if (!in_.exists(path)) {
    if (dataset.traits.absent == Absent::refused) {
      in_.fail(fmt::format("data set {} is missing", path));
    }
    if (dataset.traits.absent == Absent::zero) {
      return;
    }
    fill_from_mass_table(dataset, target);
  } else {
    const std::vector<hsize_t> shape = in_.facts(path).extents;
    const bool fits = shape.size() == 2 ? shape[1] == dataset.width : shape.size() == 1 && dataset.width == 1;
    if (!fits) {
      in_.fail(fmt::format("data set {} has the wrong shape; rows of {} numbers are wanted", path, dataset.width));
    }
    if (shape[0] != target.total) {
      in_.fail(
          fmt::format("data set {} has {} rows where the header counts {} particles", path, shape[0], target.total));
    }
    std::vector<hsize_t> first{target.slab.first, 0};
    std::vector<hsize_t> count{target.slab.count, dataset.width};
    first.resize(shape.size());
    count.resize(shape.size());
    in_.read(path, first, count, native(dataset.number), memory_of(dataset, target));
  }
  if (dataset.number == Number::real64) {
    convert<double>(dataset, target);
  } else if (dataset.number == Number::real32) {
    convert<float>(dataset, target);
  }
}

}  // namespace

SnapshotInfo read_info(const files::Hdf5Reader& in, const SnapshotLayout& layout) {
  SnapshotInfo info;
  info.file = in.name();
  const Attributes header = in.attributes("Header");
  info.units = read_units(in, layout.units);
  read_totals(in, header, info);
  if (in.exists("Cosmology")) {
    const Attributes cosmology = in.attributes("Cosmology");
    if (cosmology.contains("Cosmological run") && cosmology.get<double>("Cosmological run") != 0) {
      in.fail("of a cosmological run, in lengths that grow with time; only files of runs without expansion are read");
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
  if (in.exists("Code")) {
    text(in.attributes("Code"), "Code", info.header.code);
  }
  if (in.exists("RuntimePars")) {
    const Attributes runtime = in.attributes("RuntimePars");
    info.header.is_periodic =
        runtime.contains("PeriodicBoundariesOn") && runtime.get<double>("PeriodicBoundariesOn") != 0;
  }
  read_rank_particles(in, info);
  read_programs_groups(in, info);
  return info;
}

void read_particles(const files::Hdf5Reader& in,
                    const SnapshotInfo& info,
                    const SnapshotLayout& layout,
                    const std::array<SnapshotSlab, types_max>& shares,
                    Particles& particles) {
  const ColumnReader columns{in, info, layout, particles};
  const std::vector<Dataset> datasets = complete(layout);
  for (std::uint32_t type = 0; type < types_max; ++type) {
    if (info.totals[type] == 0 || (layout.kinds & kind_bit(type)) == 0) {
      continue;
    }
    const ColumnReader::Target target{type, shares[type], info.totals[type], particles.add(shares[type].count)};
    std::fill_n(particles[Particles::kind].begin() + static_cast<std::ptrdiff_t>(target.place),
                target.slab.count,
                static_cast<std::uint8_t>(type));
    for (const Dataset& dataset : datasets) {
      if ((dataset.traits.kinds & kind_bit(type)) != 0) {
        columns.read(dataset, target);
      }
    }
  }
}

}  // namespace plait::particles::hdf5::detail
