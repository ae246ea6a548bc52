// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <vector>

#include "plait/base/id.hpp"
#include "plait/data/collections/element.hpp"
#include "plait/files/partial_file.hpp"

namespace plait::data::balance {

/// An element in a phase, with the fields of vt's files.
struct StatisticsTask {
  ElementId id;
  double seconds = 0;
  std::uint32_t home = 0;  ///< Rank.
  bool is_migratable = true;
  double bytes = 0;                               ///< Its memory; 0: unknown.
  std::vector<std::uint64_t> index;               ///< In its collection; empty: unknown.
  std::optional<std::array<double, 3>> position;  ///< In space; empty: unknown.
};

/// The messages from one element to another in a phase.
struct StatisticsMessages {
  ElementId from;
  ElementId to;
  double bytes = 0;
  std::uint64_t count = 1;
};

/// One phase of one rank.
struct StatisticsPhase {
  std::uint64_t id = 0;
  std::vector<StatisticsTask> tasks;
  std::vector<StatisticsMessages> messages;  ///< One entry a pair, on the sender's rank.
  double background = 0;                     ///< Seconds of the rank that belong to no task.
};

/// The rank of a file.
struct StatisticsRank {
  Rank rank;
  std::optional<std::uint32_t> node;  ///< With the next three; empty: unknown, and not written.
  std::uint32_t ranks_of_node = 1;
  std::uint32_t rank_in_node = 0;
  std::uint32_t node_count = 1;
};

/// PREFIX.RANK.json.
[[nodiscard]] std::filesystem::path statistics_path(const std::filesystem::path& prefix, Rank rank);

/// Writes the load statistics of one rank in vt's format ("LBDatafile"), which LBAF, vt-tv and `plait balance` read.
///
/// Appends phases to a partial file, which `close` renames: a file with the final name is complete. The background of a
/// rank is a task that cannot move, with the id `background_id`. Threads: one at a time.
class StatisticsFile {
 public:
  /// Creates the folder of `prefix` if needed. Throws: `Error` with `io` when the file cannot be created.
  StatisticsFile(const std::filesystem::path& prefix, const StatisticsRank& rank);
  StatisticsFile(const StatisticsFile&) = delete;
  StatisticsFile& operator=(const StatisticsFile&) = delete;
  /// As `close`, but ignores errors.
  ~StatisticsFile();

  /// Throws: `Error` with `io` when the disk is full, `bad_argument` unless phases are in ascending order.
  void write(const StatisticsPhase& phase);
  /// Completes the file. Throws: `Error` with `io`.
  void close();

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  void expect_written();

  StatisticsRank rank_;
  std::filesystem::path path_;
  files::PartialFile partial_;
  std::ofstream file_;
  std::optional<std::uint64_t> last_;
};

/// The id of the task for the background of a rank: above all ids that a 64-bit float represents exactly.
[[nodiscard]] ElementId background_id(Rank rank);

}  // namespace plait::data::balance
