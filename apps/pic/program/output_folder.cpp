// SPDX-License-Identifier: Apache-2.0
#include "pic/program/output_folder.hpp"

#include <string>
#include <utility>

#include <mpi.h>

#include "support/agree.hpp"
#include "support/output_folder.hpp"

namespace pic {
namespace {

/// On rank 0, which sends its error to all.
void prepare_on_first(app::OutputFolder folder, const RunSettings& settings, int rank) {
  folder.existing = settings.restarts     ? app::Existing::kept
                    : settings.overwrites ? app::Existing::removed
                                          : app::Existing::refused;
  folder.remedy = "--overwrite, or go on from its checkpoints with --restart";
  std::string text;
  try {
    if (rank == 0) {
      app::prepare_output(folder);
    }
  } catch (const plait::Error& error) {
    text = error.what();
  }
  int length = static_cast<int>(text.size());
  MPI_Bcast(&length, 1, MPI_INT, 0, MPI_COMM_WORLD);
  text.resize(static_cast<std::size_t>(length));
  MPI_Bcast(text.data(), length, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (!text.empty()) {
    throw app::AgreedError{plait::Error{plait::ErrorCode::bad_argument, text}};
  }
}

}  // namespace

std::filesystem::path prepare_output(const RunSettings& settings, int rank) {
  const std::filesystem::path path = app::choose_output(settings.output, "fields", "pic-output");
  prepare_on_first({.path = path, .prefix = "pic-"}, settings, rank);
  return path;
}

std::filesystem::path prepare_checkpoints(const RunSettings& settings, int rank) {
  prepare_on_first(
      {.path = settings.checkpoint_folder, .option = "--checkpoint-folder", .prefix = "checkpoint-"}, settings, rank);
  return settings.checkpoint_folder;
}

}  // namespace pic
