// SPDX-License-Identifier: Apache-2.0
#include "dns/program/output_folder.hpp"

#include <cstdlib>
#include <fstream>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace dns {
namespace {

struct Folder {
  std::filesystem::path path;
  std::string_view option;  ///< That chooses it.
  std::string_view prefix;  ///< Of the names of its files.
};

void prepare(const Folder& folder, const RunSettings& settings) {
  std::error_code trouble;
  std::filesystem::create_directories(folder.path, trouble);
  const std::filesystem::path probe = folder.path / ".plait-dns-probe";
  const bool is_writable = !trouble && static_cast<bool>(std::ofstream{probe} << "probe" << std::flush);
  std::filesystem::remove(probe, trouble);
  if (!is_writable) {
    throw plait::Error{
        plait::ErrorCode::bad_argument,
        fmt::format("cannot write into the folder {}: choose another with {}", folder.path.string(), folder.option)};
  }
  if (settings.restarts) {
    return;  // they are this run's own
  }
  for (const auto& entry : std::filesystem::directory_iterator{folder.path}) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(folder.prefix) || !name.ends_with(".h5")) {
      continue;
    }
    if (!settings.overwrites) {
      throw plait::Error{
          plait::ErrorCode::bad_argument,
          fmt::format("{} holds the files of another run: choose another folder with {}, or --overwrite, "
                      "or go on from its checkpoints with --restart",
                      folder.path.string(),
                      folder.option)};
    }
    std::filesystem::remove(entry.path(), trouble);  // else two runs would look like one series
  }
}

}  // namespace

std::filesystem::path choose_output(const RunSettings& settings) {
  if (!settings.output.empty()) {
    return settings.output;
  }
  const char* const run_folder = std::getenv("PLAIT_TRACE");
  return run_folder != nullptr && *run_folder != '\0' ? std::filesystem::path{run_folder} / "fields" : "dns-output";
}

void prepare_output(const RunSettings& settings) {
  prepare({choose_output(settings), "--output", "dns-"}, settings);
}

void prepare_checkpoints(const RunSettings& settings) {
  prepare({settings.checkpoint_folder, "--checkpoint-folder", "checkpoint-"}, settings);
}

}  // namespace dns
