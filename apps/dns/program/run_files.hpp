// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include <mpi.h>

#include "plait/plait.hpp"

#include "dns/output/checkpoint.hpp"
#include "dns/output/diagnostics_file.hpp"
#include "dns/output/time_series.hpp"
#include "dns/program/settings.hpp"
#include "dns/solver.hpp"
#include "support/restart.hpp"

namespace dns {

/// All files of a run: fields, measurements, checkpoints. All calls are collective and throw `app::AgreedError` on all
/// ranks.
class RunFiles {
 public:
  /// `communicator` has the runtime's ranks, and is used here only. Creates folders, refuses those of another run.
  RunFiles(plait::Runtime& runtime, MPI_Comm communicator, const RunSettings& settings, Solver& solver);

  /// Puts the solver where the newest whole checkpoint is, when asked to and there is one. Returns the rate that the
  /// next step is chosen by.
  std::optional<double> go_on();
  void note(const Diagnostics& measured, const RunNotes& notes);
  void write_fields();
  void write_checkpoint(double courant_rate);
  /// At the end of a run that went well.
  void finish();

 private:
  [[nodiscard]] app::Description description() const;
  [[nodiscard]] std::vector<std::string> field_names() const;
  void make_folders();

  plait::Runtime& runtime_;
  MPI_Comm communicator_;
  const RunSettings& settings_;
  Solver& solver_;
  bool is_first_;
  std::filesystem::path folder_;
  Precision precision_;
  std::unique_ptr<plait::data::CheckpointStore> store_;
  std::optional<TimeSeries> series_;           ///< On the first rank.
  std::unique_ptr<DiagnosticsFile> measured_;  ///< On the first rank.
};

}  // namespace dns
