// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/hdf5/detail/file_writer.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <type_traits>
#include <variant>

#include <fmt/format.h>

#include "plait/version.hpp"

namespace plait::particles::hdf5::detail {
namespace {

std::string unit_expression(const Dimension& dimension) {
  std::string text;
  const auto add = [&text](const char* unit, double exponent) {
    if (exponent != 0) {
      text += fmt::format("{}{}", text.empty() ? "" : " ", unit);
      text += exponent == 1 ? "" : fmt::format("^{:g}", exponent);
    }
  };
  add("U_M", dimension.mass);
  add("U_L", dimension.length);
  add("U_t", dimension.time);
  add("U_T", dimension.temperature);
  return text.empty() ? "[ - ] " : text + "  [ in cgs ]";
}

/// Writes numbers as lists, also single ones, as SWIFT does.
void put_all(files::Hdf5Writer& out, const files::Hdf5Handle& at, const Attributes& values) {
  for (const auto& [key, value] : values.values()) {
    std::visit(
        [&, &name = key](const auto& held) {
          using T = std::decay_t<decltype(held)>;
          if constexpr (std::is_same_v<T, std::string>) {
            out.attribute(at, name, held);
          } else if constexpr (std::is_arithmetic_v<T>) {
            out.attribute(at, name, std::span<const T>{&held, 1});
          } else {
            out.attribute(at, name, std::span{held});
          }
        },
        value);
  }
}

void put_group(files::Hdf5Writer& out, const std::string& path, const Attributes& values) {
  put_all(out, out.group(path), values);
}

void describe(files::Hdf5Writer& out,
              const files::Hdf5Handle& at,
              const Dataset& dataset,
              const Units& units,
              const SnapshotHeader& header) {
  const Dimension& dimension = dataset.traits.dimension;
  const double factor = conversion(units, Units{}, dimension);
  const double scale = header.cosmology ? header.cosmology->scale_factor : 1;
  const double exponent = header.cosmology ? dataset.traits.scale_exponent : 0;
  Attributes values;
  values.set("Description", dataset.traits.description);
  values.set("Expression for physical CGS units", unit_expression(dimension));
  values.set("Conversion factor to CGS (not including cosmological corrections)", factor);
  values.set("Conversion factor to physical CGS (including cosmological corrections)",
             factor * std::pow(scale, exponent));
  values.set("U_M exponent", dimension.mass);
  values.set("U_L exponent", dimension.length);
  values.set("U_t exponent", dimension.time);
  values.set("U_I exponent", 0.0);
  values.set("U_T exponent", dimension.temperature);
  values.set("a-scale exponent", exponent);
  values.set("h-scale exponent", 0.0);
  values.set("Value stored as physical", exponent == 0 ? 1 : 0);
  values.set("Property can be converted to comoving", exponent == 0 ? 0 : 1);
  values.set("Lossy compression filter", "None");
  put_all(out, at, values);
}

/// With SWIFT's names, which swiftsimio and yt read.
void write_header(files::Hdf5Writer& out, const SnapshotHeader& header, const Shares& shares) {
  std::vector<std::uint64_t> low;
  std::vector<std::uint64_t> high;
  std::vector<std::uint64_t> is_there;
  for (const std::uint64_t total : shares.totals) {
    low.push_back(total & 0xffffffffU);
    high.push_back(total >> 32U);
    is_there.push_back(total > 0 ? 1 : 0);
  }
  const std::vector<std::uint64_t> all{shares.totals.begin(), shares.totals.end()};
  const std::vector<double> masses(types_max);
  Attributes values;
  values.set("NumPart_ThisFile", all);
  values.set("NumPart_Total", low);
  values.set("NumPart_Total_HighWord", high);
  values.set("CanHaveTypes", is_there);
  values.set("NumPartTypes", types_max);
  values.set("MassTable", masses);
  values.set("InitialMassTable", masses);
  values.set("BoxSize", std::vector<double>{header.box.x, header.box.y, header.box.z});
  values.set("Dimension", header.dimensions);
  values.set("Time", header.time);
  const double scale = header.cosmology ? header.cosmology->scale_factor : 1;
  values.set("Redshift", 1 / scale - 1);
  values.set("Scale-factor", scale);
  values.set("NumFilesPerSnapshot", 1);
  values.set("ThisFile", 0);
  values.set("Flag_Entropy_ICs", 0);
  values.set("Virtual", 0);
  values.set("Code", "SWIFT");  // the name by which yt knows the layout; the group Code names the program
  values.set("RunName", header.run_name);
  values.set("System", "unnamed");
  values.set("OutputType", "FullVolume");
  values.set("SelectOutput", "Default");
  put_group(out, "Header", values);
}

void write_units(files::Hdf5Writer& out, const Units& units) {
  Attributes values;
  values.set(unit_length, units.length);
  values.set(unit_mass, units.mass);
  values.set(unit_time, units.time);
  values.set("Unit current in cgs (U_I)", 1.0);
  values.set(unit_temperature, units.temperature);
  put_group(out, "Units", values);
  put_group(out, "InternalCodeUnits", values);
}

/// With SWIFT's names.
Attributes cosmology_group(const std::optional<Cosmology>& universe, const Units& units) {
  Attributes values;
  const Cosmology now = universe.value_or(Cosmology{.hubble = 1});
  values.set("Cosmological run", universe ? 1 : 0);
  values.set("Redshift", 1 / now.scale_factor - 1);
  values.set("Scale-factor", now.scale_factor);
  values.set("h", now.hubble);
  if (universe) {
    constexpr double hundred_km_per_s_per_mpc = 1e7 / 3.0856775814913673e24;  // 1/s
    const double a = now.scale_factor;
    const double rate = now.hubble * hundred_km_per_s_per_mpc * units.time;
    values.set("H0 [internal units]", rate);
    values.set("H [internal units]", rate * std::sqrt(now.matter / (a * a * a) + 1 - now.matter));
    values.set("Omega_m", now.matter);
    values.set("Omega_b", now.baryons);
    values.set("Omega_cdm", now.matter - now.baryons);
    values.set("Omega_lambda", 1 - now.matter);
    values.set("w_0", -1.0);
    values.set("w", -1.0);
    for (const char* absent : {"Omega_r",
                               "Omega_k",
                               "Omega_nu",
                               "Omega_nu_0",
                               "Omega_g",
                               "Omega_ur",
                               "w_a",
                               "N_eff",
                               "N_ur",
                               "T_CMB_0 [K]",
                               "T_CMB_0 [internal units]"}) {
      values.set(absent, 0.0);
    }
  }
  return values;
}

/// Parameters of SWIFT, as text: yt has the universe from here.
Attributes parameters_group(const std::optional<Cosmology>& universe) {
  Attributes values;
  if (universe) {
    const auto set = [&](const char* key, double value) { values.set(key, fmt::format("{:.17g}", value)); };
    set("Cosmology:h", universe->hubble);
    set("Cosmology:Omega_b", universe->baryons);
    set("Cosmology:Omega_cdm", universe->matter - universe->baryons);
    set("Cosmology:Omega_lambda", 1 - universe->matter);
  }
  return values;
}

/// Writes the groups that readers expect, and the program's own ones.
void write_surroundings(files::Hdf5Writer& out, const SnapshotHeader& header, const Units& units) {
  std::map<std::string, Attributes> groups;
  groups["Cosmology"] = cosmology_group(header.cosmology, units);
  groups["Parameters"] = parameters_group(header.cosmology);
  groups["Policy"].set("cosmological integration", header.cosmology ? 1 : 0);
  groups["RuntimePars"].set("PeriodicBoundariesOn", header.is_periodic);
  Attributes& code = groups["Code"];
  code.set("Code", header.code);
  code.set("Code Version", std::string{version()});
  code.set("Git Revision", revision().empty() ? std::string{"unknown"} : std::string{revision()});
  code.set("Compiler Name", "GCC or Clang");
  for (const char* name : {"GravityScheme", "HydroScheme", "SubgridScheme", "SubgridScheme/NamedColumns"}) {
    groups[name];
  }
  for (const auto& [name, values] : header.groups) {
    for (const auto& [key, value] : values.values()) {
      groups[name].set(key, value);
    }
  }
  for (const auto& [name, values] : groups) {
    put_group(out, name, values);
  }
}

/// What a file has.
struct Contents {
  const SnapshotHeader& header;
  const SnapshotLayout& layout;
  const Particles& particles;
  const Shares& shares;
};

void write_type(files::Hdf5Writer& out, std::uint32_t type, const Contents& contents) {
  const auto& [header, layout, particles, shares] = contents;
  const std::string path = group_of(type);
  const std::vector<Dataset> all = complete(layout);
  const auto has = [type](const Dataset& dataset) { return (dataset.traits.kinds & kind_bit(type)) != 0; };
  Attributes values;
  values.set("NumberOfParticles", shares.totals[type]);
  values.set("TotalNumberOfParticles", shares.totals[type]);
  values.set("NumberOfFields", static_cast<std::uint64_t>(std::ranges::count_if(all, has)));
  put_group(out, path, values);
  const std::uint64_t count = count_types(particles)[type];
  std::vector<Particles::Index> places;  // of this type; not needed if all are
  const auto kinds = particles[Particles::kind];
  for (std::size_t i = 0; count < kinds.size() && i < kinds.size(); ++i) {
    if (kinds[i] == type) {
      places.push_back(static_cast<Particles::Index>(i));
    }
  }
  Bytes buffer;
  const auto rows_of = [&](const AnyField& field) -> const void* {
    if (count == kinds.size()) {
      return particles.bytes_of(field).data();
    }
    buffer.clear();
    particles.pack(std::span{&field, 1}, places, buffer);
    return buffer.data();
  };
  for (const Dataset& each : all) {
    if (has(each)) {
      const bool is_shortened = each.traits.is_single && each.number == Number::real64;
      const hid_t memory_type = native(each.number);
      files::Hyperslab slab{{shares.totals[type]}, {shares.firsts[type]}, {count}};
      if (each.width > 1) {
        slab.whole.push_back(each.width);
        slab.first.push_back(0);
        slab.count.push_back(each.width);
      }
      const files::Hdf5Handle set =
          out.dataset(fmt::format("{}/{}", path, each.name),
                      slab,
                      {rows_of(each.field), memory_type, is_shortened ? H5T_NATIVE_FLOAT : memory_type});
      describe(out, set, each, layout.units, header);
    }
  }
  out.link(type_links[type], "/" + path);
}

}  // namespace

std::array<std::uint64_t, types_max> count_types(const Particles& particles) {
  std::array<std::uint64_t, types_max> counts{};
  const auto kinds = particles[Particles::kind];
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i] >= types_max) {
      throw Error{ErrorCode::bad_argument,
                  fmt::format("particle {} is of kind {}; files have groups for kinds below {}",
                              particles.ids()[i],
                              kinds[i],
                              types_max)};
    }
    ++counts[kinds[i]];
  }
  return counts;
}

void write_contents(files::Hdf5Writer& out,
                    const SnapshotHeader& header,
                    const SnapshotLayout& layout,
                    const Particles& particles,
                    const Shares& shares) {
  write_header(out, header, shares);
  write_units(out, layout.units);
  write_surroundings(out, header, layout.units);
  const hsize_t ranks = shares.rank_particles.size() / types_max;
  (void)out.dataset(ranks_dataset,
                    {{ranks, types_max}, {0, 0}, {shares.is_first_rank ? ranks : 0, types_max}},
                    std::span<const std::uint64_t>{shares.rank_particles});
  for (std::uint32_t i = 0; i < types_max; ++i) {
    if (shares.totals[i] > 0) {
      write_type(out, i, {header, layout, particles, shares});
    }
  }
}

}  // namespace plait::particles::hdf5::detail
