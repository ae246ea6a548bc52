// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <hdf5.h>

#include "plait/base/hdf5_handle.hpp"
#include "plait/particles/hdf5/snapshot.hpp"

namespace plait::particles::hdf5::detail {

/// Whose particles stand where in the file: those of this rank begin, of each type, at `firsts`.
struct Shares {
  std::array<std::uint64_t, types_max> totals{};
  std::array<std::uint64_t, types_max> firsts{};
  std::vector<std::uint64_t> rank_particles;  ///< As in `SnapshotInfo`.
  bool is_first_rank = true;
};

/// Of each type, among `particles`. Throws: `Error` with `bad_argument` for a kind that files have no group for.
[[nodiscard]] std::array<std::uint64_t, types_max> count_types(const Particles& particles);

/// Writes attributes and data sets of one file, open on all writers alike; every failure becomes an `Error` that
/// names file and place.
class FileWriter {
 public:
  /// `transfer`: a data transfer property list. Borrows all but the name.
  FileWriter(hid_t file, std::string name, hid_t transfer) : file_{file}, name_{std::move(name)}, transfer_{transfer} {}

  /// Everything of a snapshot. `header`, `layout` and the totals are the same on all writers.
  void write(const SnapshotHeader& header,
             const Layout& layout,
             const Particles& particles,
             const Shares& shares) const;

 private:
  struct Rows {
    std::uint64_t total = 0;
    Slab slab;
    std::uint64_t width = 1;
  };

  [[nodiscard]] Hdf5Handle group(const std::string& path) const;
  /// Numbers stand in lists, also one: so does SWIFT.
  void attribute(const Hdf5Handle& at, const std::string& key, const Attributes::Value& value) const;
  void attributes(const std::string& path, const Attributes& values) const;
  void header_of(const SnapshotHeader& header, const Shares& shares) const;
  void units_of(const Units& units) const;
  void surroundings_of(const SnapshotHeader& header) const;
  void type(std::uint32_t type, const Layout& layout, const Particles& particles, const Shares& shares) const;
  [[nodiscard]] Hdf5Handle dataset(
      const std::string& path, Rows rows, hid_t file_type, hid_t memory_type, const void* values) const;
  void describe(const Hdf5Handle& at, const Dataset& dataset, const Units& units) const;
  void check(bool is_good, const std::string& what) const;

  hid_t file_;
  std::string name_;
  hid_t transfer_;
};

}  // namespace plait::particles::hdf5::detail
