// SPDX-License-Identifier: Apache-2.0
#include "support/output_folder.hpp"

#include <cstdlib>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace app {

using plait::Error;
using plait::ErrorCode;

std::filesystem::path choose_output(const std::filesystem::path& wanted,
                                    const std::string& inside,
                                    const std::filesystem::path& otherwise) {
  if (!wanted.empty()) {
    return wanted;
  }
  const char* const run_folder = std::getenv("PLAIT_TRACE");
  return run_folder != nullptr && *run_folder != '\0' ? std::filesystem::path{run_folder} / inside : otherwise;
}

void prepare_output(const OutputFolder& folder) {
  std::error_code trouble;
  std::filesystem::create_directories(folder.path, trouble);
  const std::filesystem::path probe = folder.path / ".plait-probe";
  const bool is_writable = !trouble && static_cast<bool>(std::ofstream{probe} << "probe" << std::flush);
  std::filesystem::remove(probe, trouble);
  if (!is_writable) {
    throw Error{
        ErrorCode::io,
        fmt::format("cannot write into the folder {}: choose another with {}", folder.path.string(), folder.option)};
  }
  if (folder.existing == Existing::kept) {
    return;
  }
  for (const auto& entry : std::filesystem::directory_iterator{folder.path}) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(folder.prefix) || !name.ends_with(folder.suffix)) {
      continue;
    }
    if (folder.existing == Existing::refused) {
      throw Error{ErrorCode::bad_argument,
                  fmt::format("{} holds the files of another run: choose another folder with {}, or {}",
                              folder.path.string(),
                              folder.option,
                              folder.remedy)};
    }
    std::filesystem::remove(entry.path(), trouble);  // else two runs would look like one series
  }
}

}  // namespace app
