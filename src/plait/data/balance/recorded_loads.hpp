// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "plait/data/balance/problem.hpp"
#include "plait/data/balance/statistics.hpp"

namespace plait::data::balance {

/// The load statistics of a run, as `StatisticsFile` and vt write them.
class RecordedLoads {
 public:
  /// Reads one file a rank, in any order, into memory.
  ///
  /// Throws: `Error` with `bad_input`, naming the file, for a file that is truncated or of another kind, and for a rank
  /// that is missing or has two files; with `io` for a file that cannot be read.
  explicit RecordedLoads(std::span<const std::filesystem::path> files);

  [[nodiscard]] std::uint32_t rank_count() const noexcept { return static_cast<std::uint32_t>(ranks_.size()); }
  /// The phases that every rank has, in ascending order.
  [[nodiscard]] std::vector<std::uint64_t> phases() const;
  /// Returns a phase as a problem, with objects in order of id. Positions are the recorded ones, or else indices.
  ///
  /// Leaves out communication that is not from object to object. Throws: `Error` with `bad_input` for a phase that a
  /// rank lacks, naming those of all ranks, and for an object that is on two ranks.
  [[nodiscard]] Problem problem(std::uint64_t phase) const;
  /// A phase of one rank, as recorded. Throws as `problem`.
  [[nodiscard]] const StatisticsPhase& phase_of(Rank rank, std::uint64_t phase) const;
  [[nodiscard]] const StatisticsRank& rank(Rank rank) const { return ranks_[rank.value()].about; }

 private:
  struct OfRank {
    StatisticsRank about;
    std::string file;
    std::vector<StatisticsPhase> phases;  ///< Ascending, with those left out as identical.
  };
  static OfRank read(const std::filesystem::path& file);

  std::vector<OfRank> ranks_;
};

/// Writes the phase, with objects on the ranks of `placement`, to new files of vt's format, and returns their paths.
/// `placement` is in order of the problem's objects. Throws: `Error` with `io`, and as `RecordedLoads::problem`.
std::vector<std::filesystem::path> write_placement(const RecordedLoads& recorded,
                                                   std::uint64_t phase,
                                                   const Placement& placement,
                                                   const std::filesystem::path& prefix);

}  // namespace plait::data::balance
