// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/trace/meta.hpp"
#include "plait/trace/reader.hpp"

namespace plait::exports {

/// Converts times of one rank to those of an export: rank 0's monotonic clock, in nanoseconds, never below 0.
class ExportClock {
 public:
  ExportClock() = default;
  ExportClock(trace::ClockLine line, nanoseconds base) : line_{line}, base_{base} {}

  [[nodiscard]] std::uint64_t operator()(nanoseconds time) const noexcept {
    const nanoseconds found = line_.to_rank_zero(time) + base_;
    return found.count() > 0 ? static_cast<std::uint64_t>(found.count()) : 0;
  }

 private:
  trace::ClockLine line_;
  nanoseconds base_{};
};

/// One rank of a run, with what belongs to the whole run.
struct RankOfRun {
  trace::RankTrace trace;
  ExportClock clock;
};

/// The files of a run, which are read one rank after the other: a run may be larger than the memory.
class RunFiles {
 public:
  /// Finds the files. Throws: `Error` with `bad_input` when the folder holds none, or meta.json is malformed.
  explicit RunFiles(std::filesystem::path folder);

  [[nodiscard]] const trace::Meta& meta() const noexcept { return meta_; }
  /// Ranks of the run, as far as known: all of them after `for_each_rank`.
  [[nodiscard]] std::uint32_t rank_count() const noexcept { return rank_count_; }
  /// What is missing or was left out, in sentences.
  [[nodiscard]] const std::vector<std::string>& notices() const noexcept { return notices_; }

  /// Calls `visit` for each rank that has a readable file, in order of ranks. A second thread reads the next file
  /// meanwhile, so at most two ranks are in memory. An unreadable file leaves a notice. Throws: what `visit` throws,
  /// and `Error` with `bad_input` when no file is readable.
  void for_each_rank(const std::function<void(const RankOfRun&)>& visit);

 private:
  bool accept(const trace::RankTrace& trace, const std::string& file);

  std::vector<std::filesystem::path> files_;
  trace::Meta meta_;
  std::uint32_t rank_count_ = 0;
  std::vector<std::uint32_t> seen_;
  std::vector<std::string> notices_;
};

}  // namespace plait::exports
