// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/hdf5/detail/file_writer.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include <fmt/format.h>

#include "plait/particles/hdf5/detail/names.hpp"

namespace plait::particles::hdf5::detail {
namespace {

Hdf5Handle list(std::size_t n) {
  const hsize_t size = n;
  return {n > 0 ? H5Screate_simple(1, &size, nullptr) : H5Screate(H5S_NULL), H5Sclose};
}

using Value = Attributes::Value;

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

/// The rows of those particles that are of one kind: the store's own memory where all are.
class KindRows {
 public:
  KindRows(const Particles& particles, std::uint32_t kind, std::uint64_t count) : particles_{particles} {
    if (count == particles.size()) {
      return;
    }
    const auto kinds = particles[Particles::kind];
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      if (kinds[i] == kind) {
        places_.push_back(static_cast<Particles::Index>(i));
      }
    }
    is_part_ = true;
  }
  [[nodiscard]] const void* of(const AnyField& field) {
    const std::span<const std::byte> all = particles_.bytes_of(field);
    if (!is_part_) {
      return all.data();
    }
    buffer_.resize(places_.size() * field.bytes);
    for (std::size_t i = 0; i < places_.size(); ++i) {
      std::memcpy(&buffer_[i * field.bytes], &all[std::size_t{places_[i]} * field.bytes], field.bytes);
    }
    return buffer_.data();
  }

 private:
  const Particles& particles_;
  bool is_part_ = false;
  std::vector<Particles::Index> places_;
  std::vector<std::byte> buffer_;
};

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

void FileWriter::write(const SnapshotHeader& header,
                       const Layout& layout,
                       const Particles& particles,
                       const Shares& shares) const {
  header_of(header, shares);
  units_of(layout.units);
  surroundings_of(header);
  static_cast<void>(group(ranks_group));
  const std::uint64_t ranks = shares.rank_particles.size() / types_max;
  static_cast<void>(dataset(ranks_dataset,
                            {ranks, {0, shares.is_first_rank ? ranks : 0}, types_max},
                            H5T_NATIVE_UINT64,
                            H5T_NATIVE_UINT64,
                            shares.rank_particles.data()));
  for (std::uint32_t i = 0; i < types_max; ++i) {
    if (shares.totals[i] > 0) {
      type(i, layout, particles, shares);
    }
  }
}

Hdf5Handle FileWriter::group(const std::string& path) const {
  Hdf5Handle group{H5Gcreate2(file_, path.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose};
  check(static_cast<bool>(group), path);
  return group;
}

void FileWriter::attribute(const Hdf5Handle& at, const std::string& key, const Value& value) const {
  const auto put = [&](hid_t type, const Hdf5Handle& space, const void* data) {
    const Hdf5Handle attribute{H5Acreate2(at.id(), key.c_str(), type, space.id(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose};
    const bool is_empty = H5Sget_simple_extent_npoints(space.id()) == 0;
    check(attribute && (is_empty || H5Awrite(attribute.id(), type, data) >= 0), fmt::format("attribute '{}'", key));
  };
  if (const auto* real = std::get_if<double>(&value)) {
    put(H5T_NATIVE_DOUBLE, list(1), real);
  } else if (const auto* whole = std::get_if<std::uint64_t>(&value)) {
    put(H5T_NATIVE_UINT64, list(1), whole);
  } else if (const auto* reals = std::get_if<std::vector<double>>(&value)) {
    put(H5T_NATIVE_DOUBLE, list(reals->size()), reals->data());
  } else if (const auto* wholes = std::get_if<std::vector<std::uint64_t>>(&value)) {
    put(H5T_NATIVE_UINT64, list(wholes->size()), wholes->data());
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    const Hdf5Handle type{H5Tcopy(H5T_C_S1), H5Tclose};
    H5Tset_size(type.id(), std::max<std::size_t>(text->size(), 1));
    put(type.id(), {H5Screate(H5S_SCALAR), H5Sclose}, text->c_str());
  }
}

void FileWriter::attributes(const std::string& path, const Attributes& values) const {
  const Hdf5Handle at = group(path);
  for (const auto& [key, value] : values.values()) {
    attribute(at, key, value);
  }
}

/// SWIFT's names; swiftsimio and yt read them.
void FileWriter::header_of(const SnapshotHeader& header, const Shares& shares) const {
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
  values.set("Redshift", 0.0);
  values.set("Scale-factor", 1.0);
  values.set("NumFilesPerSnapshot", 1);
  values.set("ThisFile", 0);
  values.set("Flag_Entropy_ICs", 0);
  values.set("Virtual", 0);
  values.set("Code", "SWIFT");  // the layout's name, by which yt knows it; whose file it is stands in the group Code
  values.set("RunName", header.run_name);
  values.set("System", "unnamed");
  values.set("OutputType", "FullVolume");
  values.set("SelectOutput", "Default");
  attributes("Header", values);
}

void FileWriter::units_of(const Units& units) const {
  Attributes values;
  values.set(unit_length, units.length);
  values.set(unit_mass, units.mass);
  values.set(unit_time, units.time);
  values.set("Unit current in cgs (U_I)", 1.0);
  values.set(unit_temperature, units.temperature);
  attributes("Units", values);
  attributes("InternalCodeUnits", values);
}

/// Groups that readers look for, with what the program says in them.
void FileWriter::surroundings_of(const SnapshotHeader& header) const {
  std::map<std::string, Attributes> groups;
  Attributes& cosmology = groups["Cosmology"];
  cosmology.set("Cosmological run", 0);
  cosmology.set("Redshift", 0.0);
  cosmology.set("Scale-factor", 1.0);
  cosmology.set("h", 1.0);
  groups["Policy"].set("cosmological integration", 0);
  groups["RuntimePars"].set("PeriodicBoundariesOn", header.is_periodic);
  Attributes& code = groups["Code"];
  code.set("Code", header.code);
  code.set("Code Version", "0.1.0");
  code.set("Git Revision", "unknown");
  code.set("Compiler Name", "GCC or Clang");
  for (const char* name :
       {"GravityScheme", "HydroScheme", "Parameters", "SubgridScheme", "SubgridScheme/NamedColumns"}) {
    groups[name];
  }
  for (const auto& [name, values] : header.groups) {
    for (const auto& [key, value] : values.values()) {
      groups[name].set(key, value);
    }
  }
  for (const auto& [name, values] : groups) {
    attributes(name, values);
  }
}

void FileWriter::type(std::uint32_t type,
                      const Layout& layout,
                      const Particles& particles,
                      const Shares& shares) const {
  const std::string path = group_of(type);
  const std::vector<Dataset> all = complete(layout);
  const auto has = [type](const Dataset& dataset) { return (dataset.traits.kinds & kind_bit(type)) != 0; };
  Attributes values;
  values.set("NumberOfParticles", shares.totals[type]);
  values.set("TotalNumberOfParticles", shares.totals[type]);
  values.set("NumberOfFields", static_cast<std::uint64_t>(std::ranges::count_if(all, has)));
  attributes(path, values);
  const std::uint64_t count = count_types(particles)[type];
  KindRows rows{particles, type, count};
  for (const Dataset& each : all) {
    if (has(each)) {
      const bool is_shortened = each.traits.is_single && each.number == Number::real64;
      const hid_t memory_type = native(each.number);
      const Hdf5Handle set = dataset(fmt::format("{}/{}", path, each.name),
                                     {shares.totals[type], {shares.firsts[type], count}, each.width},
                                     is_shortened ? H5T_NATIVE_FLOAT : memory_type,
                                     memory_type,
                                     rows.of(each.field));
      describe(set, each, layout.units);
    }
  }
  check(H5Lcreate_soft(("/" + path).c_str(), file_, type_links[type], H5P_DEFAULT, H5P_DEFAULT) >= 0,
        fmt::format("link {}", type_links[type]));
}

Hdf5Handle FileWriter::dataset(
    const std::string& path, Rows rows, hid_t file_type, hid_t memory_type, const void* values) const {
  const std::array<hsize_t, 2> shape{rows.total, rows.width};
  const int rank = rows.width > 1 ? 2 : 1;
  const Hdf5Handle space{H5Screate_simple(rank, shape.data(), nullptr), H5Sclose};
  Hdf5Handle set{H5Dcreate2(file_, path.c_str(), file_type, space.id(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                 H5Dclose};
  check(static_cast<bool>(set), path);
  const std::array<hsize_t, 2> begin{rows.slab.first, 0};
  const std::array<hsize_t, 2> count{rows.slab.count, rows.width};
  const Hdf5Handle memory{H5Screate_simple(rank, count.data(), nullptr), H5Sclose};
  if (rows.slab.count > 0) {
    H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, begin.data(), nullptr, count.data(), nullptr);
  } else {
    H5Sselect_none(space.id());
    H5Sselect_none(memory.id());
  }
  check(H5Dwrite(set.id(), memory_type, memory.id(), space.id(), transfer_, values) >= 0, path);
  return set;
}

void FileWriter::describe(const Hdf5Handle& at, const Dataset& dataset, const Units& units) const {
  const Dimension& dimension = dataset.traits.dimension;
  const double factor = conversion(units, Units{}, dimension);
  Attributes values;
  values.set("Description", dataset.traits.description);
  values.set("Expression for physical CGS units", unit_expression(dimension));
  values.set("Conversion factor to CGS (not including cosmological corrections)", factor);
  values.set("Conversion factor to physical CGS (including cosmological corrections)", factor);
  values.set("U_M exponent", dimension.mass);
  values.set("U_L exponent", dimension.length);
  values.set("U_t exponent", dimension.time);
  values.set("U_I exponent", 0.0);
  values.set("U_T exponent", dimension.temperature);
  values.set("a-scale exponent", 0.0);
  values.set("h-scale exponent", 0.0);
  values.set("Value stored as physical", 1);
  values.set("Property can be converted to comoving", 0);
  values.set("Lossy compression filter", "None");
  for (const auto& [key, value] : values.values()) {
    attribute(at, key, value);
  }
}

void FileWriter::check(bool is_good, const std::string& what) const {
  if (!is_good) {
    throw Error{ErrorCode::io, fmt::format("{}: cannot write {}: {}", name_, what, hdf5_reason())};
  }
}

}  // namespace plait::particles::hdf5::detail
