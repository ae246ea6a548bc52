// SPDX-License-Identifier: Apache-2.0
#include "pic/program/output_folder.hpp"

#include <cstdlib>
#include <fstream>
#include <string>
#include <system_error>

#include <fmt/format.h>
#include <mpi.h>

#include "pic/program/run.hpp"

namespace pic {
namespace {

std::filesystem::path choose(const RunSettings& settings) {
  if (!settings.output.empty()) {
    return settings.output;
  }
  const char* const run_folder = std::getenv("PLAIT_TRACE");
  return run_folder != nullptr && *run_folder != '\0' ? std::filesystem::path{run_folder} / "fields" : "pic-output";
}

/// What is wrong with the folder; empty if nothing.
std::string prepare(const std::filesystem::path& folder, bool overwrites) {
  std::error_code trouble;
  std::filesystem::create_directories(folder, trouble);
  const std::filesystem::path probe = folder / ".plait-pic-probe";
  const bool is_writable = !trouble && static_cast<bool>(std::ofstream{probe} << "probe" << std::flush);
  std::filesystem::remove(probe, trouble);
  if (!is_writable) {
    return fmt::format("cannot write into the folder {}: choose another with --output", folder.string());
  }
  for (const auto& entry : std::filesystem::directory_iterator{folder}) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("pic-") || !name.ends_with(".h5")) {
      continue;
    }
    if (!overwrites) {
      return fmt::format("{} holds the files of another run: choose another folder with --output, or --overwrite",
                         folder.string());
    }
    std::filesystem::remove(entry.path(), trouble);  // else two runs would look like one series
  }
  return {};
}

}  // namespace

std::filesystem::path prepare_output(const RunSettings& settings, int rank) {
  const std::filesystem::path folder = choose(settings);
  std::string text = rank == 0 ? prepare(folder, settings.overwrites) : "";
  int length = static_cast<int>(text.size());
  MPI_Bcast(&length, 1, MPI_INT, 0, MPI_COMM_WORLD);
  text.resize(static_cast<std::size_t>(length));
  MPI_Bcast(text.data(), length, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (!text.empty()) {
    throw SettingsError{plait::Error{plait::ErrorCode::bad_argument, text}};
  }
  return folder;
}

}  // namespace pic
