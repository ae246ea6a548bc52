// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "plait/exports/run_files.hpp"
#include "plait/exports/site_texts.hpp"

namespace plait::exports {

/// Writes a run as a Perfetto trace (https://perfetto.dev/docs/reference/synthetic-track-event), rank by rank: a
/// process for each rank, a track for each thread with its tasks and calls, messages in rows and as flows from call to
/// call, the bytes being sent, counters. Times are of rank 0's monotonic clock.
class PerfettoFile {
 public:
  /// The file is complete or absent: it has another name until `complete`. Throws: `Error` with `io`.
  PerfettoFile(const std::filesystem::path& file, SiteTexts texts);
  PerfettoFile(const PerfettoFile&) = delete;
  PerfettoFile& operator=(const PerfettoFile&) = delete;
  ~PerfettoFile();

  /// Appends a rank, once. Throws: `Error` with `io`. Cost: 0.1 to 0.2 us a packet; memory for the rank's bars.
  void add(const RankOfRun& rank);
  /// Packets written so far.
  [[nodiscard]] std::uint64_t packet_count() const noexcept;
  /// Gives the file its name. Throws: `Error` with `io`.
  void complete();

 private:
  class Packets;
  std::unique_ptr<Packets> packets_;
};

}  // namespace plait::exports
