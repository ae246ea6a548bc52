// SPDX-License-Identifier: Apache-2.0
#include "ring/snapshot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <numeric>
#include <system_error>
#include <type_traits>

#include <fmt/format.h>

#include "ring/detail/fields.hpp"
#include "ring/detail/hdf5_file.hpp"

namespace ring {
namespace {

using detail::Column;
using plait::Error;
using plait::ErrorCode;
using plait::Hdf5Handle;

/// Reads one file; every failure becomes an error that names it and what was read.
class Reader {
 public:
  explicit Reader(const std::filesystem::path& file) : name_{file.string()} {
    std::error_code trouble;
    if (!std::filesystem::exists(file, trouble)) {
      throw Error{ErrorCode::io, fmt::format("{}: there is no such file", name_)};
    }
    file_ = {H5Fopen(name_.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose};
    if (!file_) {
      throw Error{ErrorCode::bad_input,
                  fmt::format("{}: not an HDF5 file, or cut short, or not readable: {}", name_, plait::hdf5_reason())};
    }
  }

  template <class T>
  void attribute(const char* group, const char* key, T& value) const {
    const Hdf5Handle from{H5Aopen_by_name(file_.id(), group, key, H5P_DEFAULT, H5P_DEFAULT), H5Aclose};
    if (!from) {
      fail(fmt::format("{} has no attribute '{}'", group, key));
    }
    const Hdf5Handle space{H5Aget_space(from.id()), H5Sclose};
    const auto n = static_cast<std::size_t>(std::max<hssize_t>(H5Sget_simple_extent_npoints(space.id()), 0));
    if constexpr (std::is_same_v<T, std::vector<double>>) {
      value.resize(n);
      take(from, H5T_NATIVE_DOUBLE, value.data(), n, key);
    } else if constexpr (std::is_same_v<T, std::vector<std::uint64_t>>) {
      value.resize(n);
      take(from, H5T_NATIVE_UINT64, value.data(), n, key);
    } else {
      if (n != 1) {
        fail(fmt::format("attribute '{}' of {} is not one number", key, group));
      }
      std::conditional_t<std::floating_point<T>, double, std::uint64_t> number{};
      take(from, std::floating_point<T> ? H5T_NATIVE_DOUBLE : H5T_NATIVE_UINT64, &number, 1, key);
      value = static_cast<T>(number);
      if constexpr (!std::floating_point<T>) {
        if (static_cast<std::uint64_t>(value) != number) {
          fail(fmt::format("attribute '{}' of {} is {}, which is out of range", key, group, number));
        }
      }
    }
  }

  [[nodiscard]] Hdf5Handle open(const Column& column) const {
    Hdf5Handle set{H5Dopen2(file_.id(), column.path, H5P_DEFAULT), H5Dclose};
    if (!set) {
      fail(fmt::format("data set {} is missing", column.path));
    }
    return set;
  }

  /// Rows of the data set, which must have the column's shape.
  [[nodiscard]] std::uint64_t rows(const Column& column) const {
    const Hdf5Handle set = open(column);
    const Hdf5Handle space{H5Dget_space(set.id()), H5Sclose};
    std::array<hsize_t, H5S_MAX_RANK> shape{};
    const int rank = H5Sget_simple_extent_dims(space.id(), shape.data(), nullptr);
    const bool fits = column.width == 1 ? rank == 1 : rank == 2 && shape[1] == column.width;
    if (!fits) {
      fail(fmt::format(
          "data set {} has the wrong shape; one row of {} for each body is wanted", column.path, column.width));
    }
    return shape[0];
  }

  void read(const Column& column, Slab slab, hid_t type, void* values) const {
    const Hdf5Handle set = open(column);
    const Hdf5Handle space{H5Dget_space(set.id()), H5Sclose};
    const std::array<hsize_t, 2> begin{slab.first, 0};
    const std::array<hsize_t, 2> count{slab.count, column.width};
    const Hdf5Handle memory{H5Screate_simple(column.width > 1 ? 2 : 1, count.data(), nullptr), H5Sclose};
    if (slab.count == 0) {
      return;
    }
    H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, begin.data(), nullptr, count.data(), nullptr);
    if (H5Dread(set.id(), type, memory.id(), space.id(), H5P_DEFAULT, values) < 0) {
      fail(fmt::format("data set {} cannot be read: {}", column.path, plait::hdf5_reason()));
    }
  }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error{ErrorCode::bad_input, fmt::format("{}: {}", name_, what)};
  }

 private:
  void take(const Hdf5Handle& from, hid_t type, void* to, std::size_t n, const char* key) const {
    if (n > 0 && H5Aread(from.id(), type, to) < 0) {
      fail(fmt::format("attribute '{}' cannot be read: {}", key, plait::hdf5_reason()));
    }
  }

  std::string name_;
  Hdf5Handle file_;
};

/// Why a run cannot go on with these; null when it can.
const char* fault_of(const RunState& state) {
  const Parameters& p = state.parameters;
  const auto finite = [](auto... values) { return (std::isfinite(values) && ...); };
  if (!finite(state.time,
              state.energy_begin,
              state.dissipation.energy,
              state.dissipation.rate,
              state.spring,
              p.central_mass,
              p.time_step,
              p.theta,
              p.softening,
              p.collision_radius,
              p.restitution,
              p.contact_steps)) {
    return "holds a number that is not finite";
  }
  if (p.time_step <= 0 || p.theta < 0 || p.central_mass < 0 || p.softening < 0 || p.collision_radius < 0) {
    return "holds a negative length, mass or time step";
  }
  if (p.restitution <= 0 || p.restitution > 1 || p.contact_steps <= 0) {
    return "holds a restitution outside (0, 1] or a contact time that is not positive";
  }
  if (p.order != Order::monopole && p.order != Order::quadrupole) {
    return "holds a multipole order that is neither 1 nor 2";
  }
  if (p.leaf_bodies_max == 0 || p.group_bodies_max == 0 || state.grid.ranks() == 0) {
    return "holds a leaf, group or grid size of 0";
  }
  return nullptr;
}

RunState read_state(const Reader& in) {
  RunState state;
  detail::visit_state(state, [&](const char* key, auto& value) { in.attribute(detail::state_group, key, value); });
  if (const char* why = fault_of(state)) {
    in.fail(fmt::format("{} {}", detail::state_group, why));
  }
  return state;
}

Snapshot read_all(const std::filesystem::path& file, std::uint32_t rank, std::uint32_t ranks) {
  const Reader in{file};
  Snapshot snapshot;
  snapshot.state = read_state(in);
  snapshot.total = in.rows(detail::id_column);
  for (const detail::RealColumn& column : detail::real_columns) {
    if (in.rows(column) != snapshot.total) {
      in.fail(fmt::format("data set {} has {} rows where {} has {}",
                          column.path,
                          in.rows(column),
                          detail::id_column.path,
                          snapshot.total));
    }
  }
  const auto& held = snapshot.state.rank_bodies;
  if (!held.empty() && std::accumulate(held.begin(), held.end(), std::uint64_t{0}) != snapshot.total) {
    in.fail(fmt::format(
        "{} says that its ranks held another number of bodies than the {} here", detail::state_group, snapshot.total));
  }
  snapshot.slab = slab_of(snapshot.state, snapshot.total, rank, ranks);
  snapshot.bodies.resize(snapshot.slab.count);
  std::vector<double> values;
  for (const detail::RealColumn& column : detail::real_columns) {
    values.resize(snapshot.slab.count * column.width);
    in.read(column, snapshot.slab, H5T_NATIVE_DOUBLE, values.data());
    const auto bad = std::ranges::find_if(values, [](double value) { return !std::isfinite(value); });
    if (bad != values.end()) {
      const auto row = static_cast<std::uint64_t>(bad - values.begin()) / column.width;
      in.fail(fmt::format("data set {} holds {} at row {}", column.path, *bad, snapshot.slab.first + row));
    }
    for (std::size_t i = 0; i < snapshot.bodies.size(); ++i) {
      column.set(snapshot.bodies[i], &values[i * column.width]);
    }
  }
  std::vector<std::uint64_t> ids(snapshot.slab.count);
  in.read(detail::id_column, snapshot.slab, H5T_NATIVE_UINT64, ids.data());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    snapshot.bodies[i].id = ids[i];
  }
  static_cast<void>(check_bodies(snapshot.bodies, in.name()).value());
  return snapshot;
}

std::uint64_t write_all(const std::filesystem::path& partial, const RunState& state, std::span<const Body> bodies) {
  Hdf5Handle file{H5Fcreate(partial.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose};
  if (!file) {
    throw Error{ErrorCode::io,
                fmt::format("{}: cannot create the file: {}; does its folder exist, and may one write "
                            "there?",
                            partial.string(),
                            plait::hdf5_reason())};
  }
  RunState complete = state;
  if (complete.rank_bodies.empty()) {
    complete.rank_bodies = {bodies.size()};
  }
  detail::write_contents(file.id(), partial.string(), complete, bodies.size(), {0, bodies.size()}, bodies, H5P_DEFAULT);
  if (!file.close()) {
    throw Error{ErrorCode::io,
                fmt::format("{}: cannot be closed: {}; is the disk full?", partial.string(), plait::hdf5_reason())};
  }
  return std::filesystem::file_size(partial);
}

}  // namespace

Slab slab_of(const RunState& state, std::uint64_t total, std::uint32_t rank, std::uint32_t ranks) {
  plait::expect(rank < ranks, "a rank is one of the ranks");
  if (state.rank_bodies.size() == ranks) {
    const auto begin = state.rank_bodies.begin();
    return {std::accumulate(begin, begin + rank, std::uint64_t{0}), state.rank_bodies[rank]};
  }
  const std::uint64_t first = total / ranks * rank + std::min<std::uint64_t>(rank, total % ranks);
  return {first, total / ranks + (rank < total % ranks ? 1 : 0)};
}

plait::Result<std::uint64_t> check_bodies(std::span<const Body> bodies, const std::string& source) {
  std::vector<std::uint64_t> ids;
  ids.reserve(bodies.size());
  for (const Body& body : bodies) {
    const Vector& p = body.position;
    const Vector& v = body.velocity;
    if (!std::isfinite(p.x + p.y + p.z + v.x + v.y + v.z)) {
      return Error{ErrorCode::bad_input,
                   fmt::format("{}: the position or velocity of body {} is not finite", source, body.id)};
    }
    if (!(body.mass > 0) || !std::isfinite(body.mass)) {
      return Error{ErrorCode::bad_input,
                   fmt::format("{}: body {} has mass {}; masses must be positive", source, body.id, body.mass)};
    }
    ids.push_back(body.id);
  }
  std::ranges::sort(ids);
  const auto twice = std::ranges::adjacent_find(ids);
  if (twice != ids.end()) {
    return Error{ErrorCode::bad_input, fmt::format("{}: id {} occurs twice", source, *twice)};
  }
  return std::uint64_t{bodies.size()};
}

plait::Result<std::uint64_t> write_snapshot(const std::filesystem::path& file,
                                            const RunState& state,
                                            std::span<const Body> bodies) {
  const plait::Hdf5Silence silence;
  const std::filesystem::path partial = file.string() + ".partial";
  try {
    const std::uint64_t bytes = write_all(partial, state, bodies);
    std::filesystem::rename(partial, file);
    return bytes;
  } catch (const Error& error) {
    std::error_code ignored;
    std::filesystem::remove(partial, ignored);
    return error;
  } catch (const std::filesystem::filesystem_error& error) {
    std::error_code ignored;
    std::filesystem::remove(partial, ignored);
    return Error{ErrorCode::io, fmt::format("{}: {}", file.string(), error.code().message())};
  }
}

plait::Result<Snapshot> read_snapshot(const std::filesystem::path& file, std::uint32_t rank, std::uint32_t ranks) {
  const plait::Hdf5Silence silence;
  try {
    return read_all(file, rank, ranks);
  } catch (const Error& error) {
    return error;
  }
}

}  // namespace ring
