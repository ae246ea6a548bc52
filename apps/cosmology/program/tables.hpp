// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cosmology/universe.hpp"

namespace cosmology {

/// The table of the power spectra of a run, beside the first one grown by linear theory: `cosmology-power.txt`.
class PowerFile {
 public:
  static constexpr const char* name = "cosmology-power.txt";

  /// In `folder`, which exists.
  explicit PowerFile(const std::filesystem::path& folder) : path_{folder / name} {}

  /// Adds a spectrum and writes the whole file, which is complete at any time. Throws: `plait::Error`.
  void add(const RunState& state, const plait::particles::PowerSpectrum& spectrum);

 private:
  std::filesystem::path path_;
  std::string rows_;
  std::vector<double> first_;  ///< The first spectrum.
  double first_growth_ = 1;
};

/// A group, and the comoving distance from its centre within which half of its mass is.
struct GroupRow : plait::particles::FriendGroup {
  double half_mass_radius = 0;
};

/// The table of the groups of all ranks, the heaviest first. Throws: `plait::Error`.
void write_groups(const std::filesystem::path& file, const RunState& state, const std::vector<GroupRow>& groups);

}  // namespace cosmology
