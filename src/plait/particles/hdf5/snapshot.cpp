// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/hdf5/snapshot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "plait/files/hdf5/reader.hpp"
#include "plait/files/hdf5/write_file.hpp"
#include "plait/particles/hdf5/detail/file_writer.hpp"
#include "plait/particles/store/checks.hpp"

namespace plait::particles::hdf5 {
namespace {

using detail::group_of;

template <class T>
T get_or(const Attributes& from, const char* key, T otherwise) {
  return from.contains(key) ? from.get<T>(key) : otherwise;
}

/// Consecutive particles of one type.
struct Slab {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

/// The particles of `type` for rank `rank` of `ranks`: those that it wrote, if as many ranks wrote the file, else an
/// equal share.
Slab slab_of(const SnapshotInfo& info, std::uint32_t type, std::uint32_t rank, std::uint32_t ranks) {
  if (info.is_of_ranks(ranks)) {
    Slab slab;
    for (std::uint32_t r = 0; r < rank; ++r) {
      slab.first += info.rank_particles[std::size_t{r} * types_max + type];
    }
    slab.count = info.rank_particles[std::size_t{rank} * types_max + type];
    return slab;
  }
  const std::uint64_t total = info.totals[type];
  return {total / ranks * rank + std::min<std::uint64_t>(rank, total % ranks),
          total / ranks + (rank < total % ranks ? 1 : 0)};
}

/// Refuses an expanding universe unless the layout accepts it.
std::optional<Cosmology> read_cosmology(const files::Hdf5Reader& in,
                                        const Attributes& header,
                                        const SnapshotLayout& layout) {
  const Attributes swift = in.exists("Cosmology") ? in.attributes("Cosmology") : Attributes{};
  const bool is_swift = get_or(swift, "Cosmological run", 0.0) != 0;
  if (is_swift && !layout.is_comoving) {
    in.fail("of a cosmological run, in comoving lengths; only files of runs without expansion can be read");
  }
  const double hubble = get_or(header, "HubbleParam", 0.0);
  const double matter = get_or(header, "Omega0", 0.0);
  if (is_swift) {
    return Cosmology{.scale_factor = swift.get<double>("Scale-factor"),
                     .hubble = swift.get<double>("h"),
                     .matter = swift.get<double>("Omega_m"),
                     .baryons = get_or(swift, "Omega_b", 0.0)};
  }
  if (!layout.is_comoving || !(hubble > 0) || !(matter > 0)) {
    return std::nullopt;
  }
  return Cosmology{.scale_factor = get_or(header, "Time", 1 / (1 + get_or(header, "Redshift", 0.0))),
                   .hubble = hubble,
                   .matter = matter,
                   .baryons = get_or(header, "OmegaBaryon", 0.0),
                   .has_gadget_velocities = true};
}

Units read_units(const files::Hdf5Reader& in, const SnapshotLayout& layout, const std::optional<Cosmology>& cosmology) {
  const auto group = in.exists("Units") ? "Units" : in.exists("InternalCodeUnits") ? "InternalCodeUnits" : nullptr;
  if (group == nullptr) {
    Units units = layout.file_units.value_or(layout.units);
    if (cosmology && cosmology->has_gadget_velocities) {
      for (double* unit : {&units.length, &units.mass, &units.time}) {
        *unit /= cosmology->hubble;
      }
    }
    return units;
  }
  const Attributes values = in.attributes(group);
  Units units;
  values.get(detail::unit_length, units.length);
  values.get(detail::unit_mass, units.mass);
  values.get(detail::unit_time, units.time);
  units.temperature = get_or(values, detail::unit_temperature, units.temperature);
  for (const double unit : {units.length, units.mass, units.time, units.temperature}) {
    if (!(unit > 0) || !std::isfinite(unit)) {
      in.fail(fmt::format("{} holds a unit of {}, where all must be positive", group, unit));
    }
  }
  return units;
}

void read_totals(const files::Hdf5Reader& in, const Attributes& header, SnapshotInfo& info) {
  const auto low = header.get<std::vector<std::uint64_t>>("NumPart_Total");
  const auto high = get_or(header, "NumPart_Total_HighWord", std::vector<std::uint64_t>{});
  for (std::size_t type = 0; type < std::min<std::size_t>(low.size(), types_max); ++type) {
    const bool is_split = type < high.size() && (low[type] >> 32U) == 0;
    info.totals[type] = low[type] + (is_split ? high[type] << 32U : 0);
  }
  const auto files = get_or<std::uint64_t>(header, "NumFilesPerSnapshot", 1);
  if (files > 1 && get_or<std::uint64_t>(header, "Virtual", 0) == 0) {
    in.fail(fmt::format("one of {} files of a snapshot: join them into one file or a virtual one", files));
  }
}

void read_rank_particles(const files::Hdf5Reader& in, SnapshotInfo& info) {
  if (!in.exists(detail::ranks_dataset)) {
    return;
  }
  info.rank_particles.resize(in.facts(detail::ranks_dataset).count);
  in.read(detail::ranks_dataset, H5T_NATIVE_UINT64, info.rank_particles.data());
  std::array<std::uint64_t, types_max> sums{};
  for (std::size_t i = 0; i < info.rank_particles.size(); ++i) {
    sums[i % types_max] += info.rank_particles[i];
  }
  if (info.rank_particles.size() % types_max != 0 || sums != info.totals) {
    in.fail(fmt::format("{} holds other numbers of particles than the header", detail::ranks_dataset));
  }
}

void read_programs_groups(const files::Hdf5Reader& in, SnapshotInfo& info) {
  const std::set<std::string> ours{"Header", "Units", "InternalCodeUnits", "Cosmology", detail::ranks_group};
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
    Slab slab;
    std::uint64_t total = 0;
    std::size_t place = 0;  ///< In the store.
  };

  void read(const Dataset& dataset, const Target& target) const {
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
        in_.fail(fmt::format("data set {} has the wrong shape; it must have rows of {} numbers", path, dataset.width));
      }
      if (shape[0] != target.total) {
        in_.fail(
            fmt::format("data set {} has {} rows where the header counts {} particles", path, shape[0], target.total));
      }
      std::vector<hsize_t> first{target.slab.first, 0};
      std::vector<hsize_t> count{target.slab.count, dataset.width};
      first.resize(shape.size());
      count.resize(shape.size());
      in_.read(path, first, count, detail::native(dataset.number), memory_of(dataset, target));
    }
    if (dataset.number == Number::real64) {
      convert<double>(dataset, target);
    } else if (dataset.number == Number::real32) {
      convert<float>(dataset, target);
    }
  }

 private:
  void fill_from_mass_table(const Dataset& dataset, const Target& target) const {
    const Attributes header = in_.attributes("Header");
    const auto masses = get_or(header, "MassTable", std::vector<double>{});
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

  /// Converts reals in place and checks them.
  template <class Real>
  void convert(const Dataset& dataset, const Target& target) const {
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

  [[nodiscard]] std::byte* memory_of(const Dataset& dataset, const Target& target) const {
    return into_.bytes_of(dataset.field).data() + target.place * dataset.field.bytes;
  }

  const files::Hdf5Reader& in_;
  const SnapshotInfo& info_;
  const SnapshotLayout& layout_;
  Particles& into_;
};

/// Reads everything except the particles.
SnapshotInfo read_info(const files::Hdf5Reader& in, const SnapshotLayout& layout) {
  SnapshotInfo info;
  info.file = in.name();
  const Attributes header = in.attributes("Header");
  info.header.cosmology = read_cosmology(in, header, layout);
  info.units = read_units(in, layout, info.header.cosmology);
  read_totals(in, header, info);
  const double length = conversion(info.units, layout.units, length_dimension);
  info.header.time = get_or(header, "Time", 0.0) * conversion(info.units, layout.units, time_dimension);
  auto box = get_or(header, "BoxSize", std::vector<double>{});
  box.resize(3, box.empty() ? 0.0 : box.back());
  info.header.box = length * Vector{box[0], box[1], box[2]};
  info.header.dimensions = get_or(header, "Dimension", info.header.dimensions);
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
    info.header.is_periodic = get_or(in.attributes("RuntimePars"), "PeriodicBoundariesOn", 0.0) != 0;
  }
  read_rank_particles(in, info);
  read_programs_groups(in, info);
  return info;
}

}  // namespace

const Attributes& SnapshotInfo::group(const std::string& name) const {
  const auto found = header.groups.find(name);
  if (found == header.groups.end()) {
    throw Error{ErrorCode::bad_input, fmt::format("{} has no group {}", file, name)};
  }
  return found->second;
}

Result<std::uint64_t> write_snapshot(const std::filesystem::path& file,
                                     const SnapshotHeader& header,
                                     const SnapshotLayout& layout,
                                     const Particles& particles) {
  detail::Shares shares;
  try {
    shares.totals = detail::count_types(particles);
  } catch (const Error& error) {
    return error;
  }
  shares.rank_particles = {shares.totals.begin(), shares.totals.end()};
  return files::write_hdf5(
      file, [&](files::Hdf5Writer& out) { detail::write_contents(out, header, layout, particles, shares); });
}

Result<SnapshotInfo> read_snapshot(const std::filesystem::path& file,
                                   const SnapshotLayout& layout,
                                   Particles& particles,
                                   std::uint32_t rank,
                                   std::uint32_t ranks) {
  const files::Hdf5Silence silence;
  expect(rank < ranks, "a rank is one of the ranks");
  const std::size_t before = particles.size();
  try {
    const files::Hdf5Reader reader{file};
    SnapshotInfo info = read_info(reader, layout);
    const ColumnReader columns{reader, info, layout, particles};
    const std::vector<Dataset> datasets = detail::complete(layout);
    for (std::uint32_t type = 0; type < types_max; ++type) {
      if (info.totals[type] == 0 || (layout.kinds & kind_bit(type)) == 0) {
        continue;
      }
      const Slab slab = slab_of(info, type, rank, ranks);
      const ColumnReader::Target target{type, slab, info.totals[type], particles.add(slab.count)};
      std::ranges::fill(particles[Particles::kind].subspan(target.place), static_cast<std::uint8_t>(type));
      for (const Dataset& dataset : datasets) {
        if ((dataset.traits.kinds & kind_bit(type)) != 0) {
          columns.read(dataset, target);
        }
      }
    }
    refuse_equal_ids(particles.ids().subspan(before), reader.name());
    return info;
  } catch (const Error& error) {
    particles.shrink(before);
    return error;
  }
}

}  // namespace plait::particles::hdf5
