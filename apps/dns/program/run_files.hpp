// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "plait/plait.hpp"

#include "dns/output/checkpoint.hpp"
#include "dns/output/diagnostics_file.hpp"
#include "dns/output/time_series.hpp"
#include "dns/program/settings.hpp"
#include "dns/solver.hpp"
#include "support/restart.hpp"

namespace dns {

/// All files of a run: fields, measurements, checkpoints. All functions are collective and throw `app::AgreedError` on
/// all ranks.
class RunFiles {
 public:
  /// Creates folders; refuses those of another run. The runtime has the ranks of MPI_COMM_WORLD.
  RunFiles(plait::Runtime& runtime, const RunSettings& settings, Solver& solver);

  /// With --restart, restores the newest complete checkpoint, if any. Returns the Courant rate of the next step then.
  std::optional<double> go_on();
  void note(const Diagnostics& measured, const RunNotes& notes);
  void write_fields();
  void write_checkpoint(double courant_rate);
  /// Must be called at the end of a successful run.
  void finish();

 private:
  [[nodiscard]] app::Description description() const;
  [[nodiscard]] std::vector<std::string> field_names() const;
  void make_folders();
  /// Calls `work` on the first rank; its error is thrown on all ranks.
  void on_first(const std::function<void()>& work);

  plait::Runtime& runtime_;
  const RunSettings& settings_;
  Solver& solver_;
  bool is_first_;
  std::filesystem::path folder_;
  Precision precision_;
  std::unique_ptr<plait::data::CheckpointStore> store_;
  std::optional<TimeSeries> series_;         ///< On the first rank.
  std::optional<DiagnosticsFile> measured_;  ///< On the first rank.
};

}  // namespace dns
