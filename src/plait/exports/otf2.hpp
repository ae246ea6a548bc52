// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "plait/exports/run_files.hpp"
#include "plait/exports/site_texts.hpp"

namespace plait::exports {

/// Writes a run as an OTF2 archive, rank by rank, with the C library of OTF2 3
/// (https://www.vi-hps.org/projects/score-p): a location group for each rank, a location for each thread; phases, tasks
/// and calls as regions, messages and collectives as MPI events of the thread that made them, counters as metrics.
/// Times are of rank 0's monotonic clock.
class Otf2Archive {
 public:
  /// Opens `folder`/traces.otf2; the folder must not hold an archive. `library`: OTF2's shared library, as dlopen takes
  /// it. `texts`: for the call paths of samples. Throws: `Error` with `bad_input` for the library, with `io` for the
  /// folder.
  Otf2Archive(const std::filesystem::path& folder,
              const std::filesystem::path& library,
              const trace::Meta& meta,
              SiteTexts texts);
  Otf2Archive(const Otf2Archive&) = delete;
  Otf2Archive& operator=(const Otf2Archive&) = delete;
  ~Otf2Archive();

  /// Writes a rank, once. Throws: `Error` with `io`. Cost: 0.1 us an event; memory for the rank's events.
  void add(const RankOfRun& rank);
  /// Events written so far.
  [[nodiscard]] std::uint64_t event_count() const noexcept;
  /// Writes the definitions, and closes the archive. `rank_count`: of the run. Throws: `Error` with `io`.
  void complete(std::uint32_t rank_count);

 private:
  class Writer;
  std::unique_ptr<Writer> writer_;
};

}  // namespace plait::exports
