// SPDX-License-Identifier: Apache-2.0
#include "ring/detail/hdf5_file.hpp"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "plait/base/error.hpp"

#include "ring/detail/fields.hpp"

namespace ring::detail {
namespace {

using plait::Error;
using plait::ErrorCode;
using plait::Hdf5Handle;

/// Saturn's ring, to have some: the run itself has G = M = 1.
constexpr double unit_length_cm = 1e10;
constexpr double unit_mass_g = 5.6834e29;
const double unit_time_s = std::sqrt(unit_length_cm * unit_length_cm * unit_length_cm / (6.6743e-8 * unit_mass_g));

/// Writes attributes and data sets of one file; every failure becomes an error that names them.
class Writer {
 public:
  Writer(hid_t file, std::string name, hid_t transfer) : file_{file}, name_{std::move(name)}, transfer_{transfer} {}

  [[nodiscard]] Hdf5Handle group(const char* path) const {
    Hdf5Handle group{H5Gcreate2(file_, path, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose};
    check(static_cast<bool>(group), path);
    return group;
  }

  void attribute(const Hdf5Handle& at, const char* key, double value) const {
    put(at, key, one(), H5T_NATIVE_DOUBLE, &value);
  }
  void attribute(const Hdf5Handle& at, const char* key, std::uint64_t value) const {
    put(at, key, one(), H5T_NATIVE_UINT64, &value);
  }
  void attribute(const Hdf5Handle& at, const char* key, int value) const {
    put(at, key, one(), H5T_NATIVE_INT, &value);
  }
  void attribute(const Hdf5Handle& at, const char* key, std::span<const double> values) const {
    put(at, key, many(values.size()), H5T_NATIVE_DOUBLE, values.data());
  }
  void attribute(const Hdf5Handle& at, const char* key, std::span<const std::uint64_t> values) const {
    put(at, key, many(values.size()), H5T_NATIVE_UINT64, values.data());
  }
  void attribute(const Hdf5Handle& at, const char* key, std::span<const std::uint32_t> values) const {
    put(at, key, many(values.size()), H5T_NATIVE_UINT32, values.data());
  }
  void attribute(const Hdf5Handle& at, const char* key, const std::string& text) const {
    const Hdf5Handle type{H5Tcopy(H5T_C_S1), H5Tclose};
    H5Tset_size(type.id(), std::max<std::size_t>(text.size(), 1));
    put(at, key, Hdf5Handle{H5Screate(H5S_SCALAR), H5Sclose}, type.id(), text.c_str());
  }

  /// A data set of `total` rows, of which this process writes those of `slab`.
  Hdf5Handle dataset(const Column& column, std::uint64_t total, Slab slab, const void* values, hid_t type) const {
    const std::array<hsize_t, 2> shape{total, column.width};
    const int rank = column.width > 1 ? 2 : 1;
    const Hdf5Handle space{H5Screate_simple(rank, shape.data(), nullptr), H5Sclose};
    Hdf5Handle set{H5Dcreate2(file_, column.path, type, space.id(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Dclose};
    check(static_cast<bool>(set), column.path);
    const std::array<hsize_t, 2> begin{slab.first, 0};
    const std::array<hsize_t, 2> count{slab.count, column.width};
    const Hdf5Handle memory{H5Screate_simple(rank, count.data(), nullptr), H5Sclose};
    if (slab.count > 0) {
      H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, begin.data(), nullptr, count.data(), nullptr);
    } else {
      H5Sselect_none(space.id());
      H5Sselect_none(memory.id());
    }
    check(H5Dwrite(set.id(), type, memory.id(), space.id(), transfer_, values) >= 0, column.path);
    return set;
  }

  void check(bool good, const std::string& what) const {
    if (!good) {
      throw Error{ErrorCode::io, fmt::format("{}: cannot write {}: {}", name_, what, plait::hdf5_reason())};
    }
  }

 private:
  // SWIFT writes single numbers as arrays of one.
  static Hdf5Handle one() { return many(1); }
  static Hdf5Handle many(std::size_t n) {
    const hsize_t size = n;
    return {n > 0 ? H5Screate_simple(1, &size, nullptr) : H5Screate(H5S_NULL), H5Sclose};
  }
  void put(const Hdf5Handle& at, const char* key, const Hdf5Handle& space, hid_t type, const void* value) const {
    const Hdf5Handle attribute{H5Acreate2(at.id(), key, type, space.id(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose};
    const bool empty = H5Sget_simple_extent_npoints(space.id()) == 0;
    check(attribute && (empty || H5Awrite(attribute.id(), type, value) >= 0), fmt::format("attribute '{}'", key));
  }

  hid_t file_;
  std::string name_;
  hid_t transfer_;
};

/// SWIFT's names; swiftsimio and yt read them.
void write_header(const Writer& out, const RunState& state, std::uint64_t total, double box_edge) {
  const Hdf5Handle header = out.group("Header");
  const std::array<std::uint64_t, 7> counts{0, total};
  const std::array<std::uint32_t, 7> low{0, static_cast<std::uint32_t>(total)};
  const std::array<std::uint32_t, 7> high{0, static_cast<std::uint32_t>(total >> 32)};
  const std::array<std::uint32_t, 7> types{0, 1};
  const std::array<double, 7> masses{};
  const std::array<double, 3> box{box_edge, box_edge, box_edge};
  out.attribute(header, "NumPart_ThisFile", counts);
  out.attribute(header, "NumPart_Total", low);
  out.attribute(header, "NumPart_Total_HighWord", high);
  out.attribute(header, "CanHaveTypes", types);
  out.attribute(header, "NumPartTypes", 7);
  out.attribute(header, "MassTable", masses);
  out.attribute(header, "BoxSize", box);
  out.attribute(header, "InitialMassTable", masses);
  out.attribute(header, "Dimension", 3);
  out.attribute(header, "Time", state.time);
  out.attribute(header, "Redshift", 0.0);
  out.attribute(header, "Scale-factor", 1.0);
  out.attribute(header, "NumFilesPerSnapshot", 1);
  out.attribute(header, "ThisFile", 0);
  out.attribute(header, "Flag_Entropy_ICs", 0);
  out.attribute(header, "Virtual", 0);
  out.attribute(header, "Code", std::string{"plait-ring"});
  out.attribute(header, "RunName", std::string{"ring"});
  out.attribute(header, "System", std::string{"unnamed"});
  out.attribute(header, "OutputType", std::string{"FullVolume"});
  out.attribute(header, "SelectOutput", std::string{"Default"});
}

void write_units(const Writer& out) {
  for (const char* path : {"Units", "InternalCodeUnits"}) {
    const Hdf5Handle units = out.group(path);
    out.attribute(units, "Unit length in cgs (U_L)", unit_length_cm);
    out.attribute(units, "Unit mass in cgs (U_M)", unit_mass_g);
    out.attribute(units, "Unit time in cgs (U_t)", unit_time_s);
    out.attribute(units, "Unit current in cgs (U_I)", 1.0);
    out.attribute(units, "Unit temperature in cgs (U_T)", 1.0);
  }
}

void write_surroundings(const Writer& out) {
  const Hdf5Handle cosmology = out.group("Cosmology");
  out.attribute(cosmology, "Cosmological run", 0);
  out.attribute(cosmology, "Redshift", 0.0);
  out.attribute(cosmology, "Scale-factor", 1.0);
  out.attribute(cosmology, "h", 1.0);
  const Hdf5Handle policy = out.group("Policy");
  out.attribute(policy, "cosmological integration", 0);
  const Hdf5Handle runtime = out.group("RuntimePars");
  out.attribute(runtime, "PeriodicBoundariesOn", 0);
  const Hdf5Handle code = out.group("Code");
  out.attribute(code, "Code", std::string{"plait-ring"});
  out.attribute(code, "Code Version", std::string{"0.1.0"});
  out.attribute(code, "Git Revision", std::string{"unknown"});
  out.attribute(code, "Compiler Name", std::string{"GCC or Clang"});
  const Hdf5Handle gravity = out.group("GravityScheme");
  out.attribute(gravity, "Scheme", std::string{"Barnes-Hut octree, monopoles or quadrupoles"});
  const Hdf5Handle parameters = out.group("Parameters");
  const Hdf5Handle subgrid = out.group("SubgridScheme");
  const Hdf5Handle columns = out.group("SubgridScheme/NamedColumns");
}

void write_state(const Writer& out, const RunState& state) {
  const Hdf5Handle group = out.group(state_group);
  RunState copy = state;
  visit_state(copy, [&](const char* key, auto& value) {
    using Value = std::remove_reference_t<decltype(value)>;
    if constexpr (std::is_same_v<Value, std::vector<double>> || std::is_same_v<Value, std::vector<std::uint64_t>>) {
      out.attribute(group, key, std::span{std::as_const(value)});
    } else if constexpr (std::is_floating_point_v<Value>) {
      out.attribute(group, key, value);
    } else {
      out.attribute(group, key, static_cast<std::uint64_t>(value));
    }
  });
}

std::string unit_expression(const Column& column) {
  std::string text;
  const auto add = [&text](const char* unit, double exponent) {
    if (exponent != 0) {
      text += fmt::format("{}{}", text.empty() ? "" : " ", unit);
      text += exponent == 1 ? "" : fmt::format("^{:g}", exponent);
    }
  };
  add("U_M", column.mass);
  add("U_L", column.length);
  add("U_t", column.time);
  return text.empty() ? "[ - ] " : text + "  [ in cgs ]";
}

void write_column_attributes(const Writer& out, const Hdf5Handle& set, const Column& column) {
  const double factor =
      std::pow(unit_mass_g, column.mass) * std::pow(unit_length_cm, column.length) * std::pow(unit_time_s, column.time);
  out.attribute(set, "Description", std::string{column.description});
  out.attribute(set, "Expression for physical CGS units", unit_expression(column));
  out.attribute(set, "Conversion factor to CGS (not including cosmological corrections)", factor);
  out.attribute(set, "Conversion factor to physical CGS (including cosmological corrections)", factor);
  out.attribute(set, "U_M exponent", column.mass);
  out.attribute(set, "U_L exponent", column.length);
  out.attribute(set, "U_t exponent", column.time);
  out.attribute(set, "U_I exponent", 0.0);
  out.attribute(set, "U_T exponent", 0.0);
  out.attribute(set, "a-scale exponent", 0.0);
  out.attribute(set, "h-scale exponent", 0.0);
  out.attribute(set, "Value stored as physical", 1);
  out.attribute(set, "Property can be converted to comoving", 0);
  out.attribute(set, "Lossy compression filter", std::string{"None"});
}

}  // namespace

void write_contents(hid_t file,
                    const std::string& name,
                    const RunState& state,
                    std::uint64_t total,
                    Slab slab,
                    std::span<const Body> bodies,
                    hid_t transfer) {
  const Writer out{file, name, transfer};
  constexpr double box_edge = 4;  // about the origin; readers that want one get one that holds a ring
  write_header(out, state, total, box_edge);
  write_units(out);
  write_surroundings(out);
  write_state(out, state);
  const Hdf5Handle group = out.group("PartType1");
  out.attribute(group, "NumberOfParticles", total);
  out.attribute(group, "TotalNumberOfParticles", total);
  out.attribute(group, "NumberOfFields", static_cast<int>(std::size(real_columns) + 1));
  std::vector<double> values;
  for (const RealColumn& column : real_columns) {
    values.resize(bodies.size() * column.width);
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      column.get(bodies[i], &values[i * column.width]);
    }
    const Hdf5Handle set = out.dataset(column, total, slab, values.data(), H5T_NATIVE_DOUBLE);
    write_column_attributes(out, set, column);
  }
  std::vector<std::uint64_t> ids;
  for (const Body& body : bodies) {
    ids.push_back(body.id);
  }
  const Hdf5Handle set = out.dataset(id_column, total, slab, ids.data(), H5T_NATIVE_UINT64);
  write_column_attributes(out, set, id_column);
  out.check(H5Lcreate_soft("/PartType1", file, "DMParticles", H5P_DEFAULT, H5P_DEFAULT) >= 0, "link DMParticles");
}

}  // namespace ring::detail
