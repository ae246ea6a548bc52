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

namespace plait::data::balance {

/// An element in a phase, as the files of vt know it.
struct StatisticsTask {
  ElementId id;
  double seconds = 0;
  std::uint32_t home = 0;  ///< Rank.
  bool is_migratable = true;
  double bytes = 0;                               ///< To keep it; 0: not known.
  std::vector<std::uint64_t> index;               ///< In its collection; may be empty.
  std::optional<std::array<double, 3>> position;  ///< Where the element is in space, if that is known.
};

/// What one element has sent to another in a phase.
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
  std::vector<StatisticsMessages> messages;  ///< Of each pair once, on the sender's rank.
  double background = 0;                     ///< Seconds that belong to the rank.
};

/// Whose file it is.
struct StatisticsRank {
  Rank rank;
  std::optional<std::uint32_t> node;  ///< Of the rank; written when all of the next three are known.
  std::uint32_t ranks_of_node = 1;
  std::uint32_t rank_in_node = 0;
  std::uint32_t node_count = 1;
};

/// PREFIX.RANK.json.
[[nodiscard]] std::filesystem::path statistics_path(const std::filesystem::path& prefix, Rank rank);

/// Writes the load statistics of one rank in vt's format ("LBDatafile"), which LBAF, vt-tv and `plait balance` read.
///
/// Phases are appended as they come, to a file with another name; `close` gives it its own, so that a file with the
/// right name is whole. What a rank spends by itself is a task that cannot move, with an id of its own
/// (`background_id`). Threads: one at a time.
class StatisticsFile {
 public:
  /// Makes the folder of `prefix` if it is not there. Throws: `Error` with `io` when the file cannot be made.
  StatisticsFile(const std::filesystem::path& prefix, const StatisticsRank& rank);
  StatisticsFile(const StatisticsFile&) = delete;
  StatisticsFile& operator=(const StatisticsFile&) = delete;
  /// As `close`, but ignores errors.
  ~StatisticsFile();

  /// Throws: `Error` with `io` when the disk is full, `bad_argument` when phases do not rise.
  void write(const StatisticsPhase& phase);
  /// Throws: `Error` with `io`.
  void close();

  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  void expect_written();

  StatisticsRank rank_;
  std::filesystem::path path_;
  std::filesystem::path unfinished_;
  std::ofstream file_;
  std::optional<std::uint64_t> last_;
};

/// The id of the task that stands for what a rank does by itself: above all ids that a 64-bit float keeps exactly.
[[nodiscard]] ElementId background_id(Rank rank);

}  // namespace plait::data::balance
