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

/// The load statistics of a run, of vt or of plait: what `StatisticsFile` and vt write.
class RecordedLoads {
 public:
  /// Reads one file a rank, in any order.
  ///
  /// Throws: `Error` with `bad_input` that names the file, for one that is cut short or no file of this kind, and for
  /// ranks that are missing or come twice; with `io` for one that cannot be read. Cost: all is kept in memory.
  explicit RecordedLoads(std::span<const std::filesystem::path> files);

  [[nodiscard]] std::uint32_t rank_count() const noexcept { return static_cast<std::uint32_t>(ranks_.size()); }
  /// The phases that every rank has, rising.
  [[nodiscard]] std::vector<std::uint64_t> phases() const;
  /// A phase as a problem. Its objects are in order of id; positions are those that were written, or else indices.
  ///
  /// Communication that is not from object to object is left out. Throws: `Error` with `bad_input` that lists the
  /// phases, for one that some rank has not, and for an object that is on two ranks.
  [[nodiscard]] Problem problem(std::uint64_t phase) const;
  /// Of a rank, as it was read; for placements that are written. Throws as `problem`.
  [[nodiscard]] const StatisticsPhase& phase_of(Rank rank, std::uint64_t phase) const;
  [[nodiscard]] const StatisticsRank& rank(Rank rank) const { return ranks_[rank.value()].about; }

 private:
  struct OfRank {
    StatisticsRank about;
    std::string file;
    std::vector<StatisticsPhase> phases;  ///< Rising; those that were like the one before are repeated.
  };
  static OfRank read(const std::filesystem::path& file);

  std::vector<OfRank> ranks_;
};

/// Writes the phase with every object on the rank of `placement`, in order of the problem's objects, as files of vt's
/// format again. Returns their paths. Throws: `Error` with `io`, and as `RecordedLoads::problem`.
std::vector<std::filesystem::path> write_placement(const RecordedLoads& recorded,
                                                   std::uint64_t phase,
                                                   const Placement& placement,
                                                   const std::filesystem::path& prefix);

}  // namespace plait::data::balance
