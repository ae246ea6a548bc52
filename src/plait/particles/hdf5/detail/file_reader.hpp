// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <hdf5.h>

#include "plait/base/hdf5_handle.hpp"
#include "plait/particles/hdf5/snapshot.hpp"

namespace plait::particles::hdf5::detail {

/// Reads one file; every failure becomes an `Error` that names it and what was read.
class FileReader {
 public:
  explicit FileReader(const std::filesystem::path& file);

  [[nodiscard]] SnapshotInfo info(const Layout& layout) const;
  /// Appends the shares; `particles` may have grown when it throws.
  void particles(const SnapshotInfo& info,
                 const Layout& layout,
                 const std::array<Slab, types_max>& shares,
                 Particles& particles) const;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  struct Target {
    std::uint32_t type = 0;
    Slab slab;
    std::uint64_t total = 0;
    std::size_t place = 0;  ///< In the store.
  };

  [[nodiscard]] bool exists(const std::string& path) const;
  /// Those that are numbers, lists of numbers or texts; others are left out.
  [[nodiscard]] Attributes attributes(const std::string& group) const;
  [[nodiscard]] std::optional<Attributes::Value> value_of(hid_t attribute) const;
  [[nodiscard]] Units units(const Units& otherwise) const;
  void totals(const Attributes& header, SnapshotInfo& info) const;
  void rank_particles(SnapshotInfo& info) const;
  void programs_groups(SnapshotInfo& info) const;
  void column(
      const SnapshotInfo& info, const Dataset& dataset, const Target& target, const Units& to, Particles& into) const;
  void fill_from_mass_table(const SnapshotInfo& info,
                            const Dataset& dataset,
                            const Target& target,
                            Particles& into) const;
  /// Converts reals in place and checks them.
  template <class Real>
  void convert(const Dataset& dataset, const Target& target, double factor, Particles& into) const;
  [[noreturn]] void fail(const std::string& what) const;

  std::string name_;
  Hdf5Handle file_;
};

}  // namespace plait::particles::hdf5::detail
