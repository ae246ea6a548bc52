// SPDX-License-Identifier: Apache-2.0
#include "pic/program/output_folder.hpp"

#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <mpi.h>

#include "pic/program/run.hpp"

namespace pic {
namespace {

/// A folder that a run writes into.
struct Folder {
  std::filesystem::path path;
  std::string_view option;  ///< That chooses it.
  std::string_view prefix;  ///< Of the names of its files.
};

std::filesystem::path choose_output(const RunSettings& settings) {
  if (!settings.output.empty()) {
    return settings.output;
  }
  const char* const run_folder = std::getenv("PLAIT_TRACE");
  return run_folder != nullptr && *run_folder != '\0' ? std::filesystem::path{run_folder} / "fields" : "pic-output";
}

/// What is wrong with the folder; empty if nothing.
std::string prepare(const Folder& folder, const RunSettings& settings) {
  std::error_code trouble;
  std::filesystem::create_directories(folder.path, trouble);
  const std::filesystem::path probe = folder.path / ".plait-pic-probe";
  const bool is_writable = !trouble && static_cast<bool>(std::ofstream{probe} << "probe" << std::flush);
  std::filesystem::remove(probe, trouble);
  if (!is_writable) {
    return fmt::format("cannot write into the folder {}: choose another with {}", folder.path.string(), folder.option);
  }
  if (settings.restarts) {
    return {};  // they are this run's own
  }
  for (const auto& entry : std::filesystem::directory_iterator{folder.path}) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(folder.prefix) || !name.ends_with(".h5")) {
      continue;
    }
    if (!settings.overwrites) {
      return fmt::format(
          "{} holds the files of another run: choose another folder with {}, or --overwrite, or go on "
          "from its checkpoints with --restart",
          folder.path.string(),
          folder.option);
    }
    std::filesystem::remove(entry.path(), trouble);  // else two runs would look like one series
  }
  return {};
}

void prepare_on_first(const Folder& folder, const RunSettings& settings, int rank) {
  std::string text = rank == 0 ? prepare(folder, settings) : "";
  int length = static_cast<int>(text.size());
  MPI_Bcast(&length, 1, MPI_INT, 0, MPI_COMM_WORLD);
  text.resize(static_cast<std::size_t>(length));
  MPI_Bcast(text.data(), length, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (!text.empty()) {
    throw SettingsError{plait::Error{plait::ErrorCode::bad_argument, text}};
  }
}

}  // namespace

std::filesystem::path prepare_output(const RunSettings& settings, int rank) {
  const Folder folder{choose_output(settings), "--output", "pic-"};
  prepare_on_first(folder, settings, rank);
  return folder.path;
}

std::filesystem::path prepare_checkpoints(const RunSettings& settings, int rank) {
  const Folder folder{settings.checkpoint_folder, "--checkpoint-folder", "checkpoint-"};
  prepare_on_first(folder, settings, rank);
  return folder.path;
}

}  // namespace pic
