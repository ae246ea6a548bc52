// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace app {

/// The folder for a run's files: `wanted` if it is not empty, else under `plait run` the folder `inside` of the run's
/// folder, else `otherwise`.
[[nodiscard]] std::filesystem::path choose_output(const std::filesystem::path& wanted,
                                                  const std::string& inside,
                                                  const std::filesystem::path& otherwise);

/// The treatment of files of another run.
enum class Existing : std::uint8_t { refused, kept, removed };

/// A folder that a run writes to.
struct OutputFolder {
  std::filesystem::path path;
  std::string_view option = "--output";  ///< The option that chooses it.
  std::string_view prefix;               ///< Of the names of the run's files.
  std::string_view suffix = ".h5";       ///< Of the names of the run's files.
  Existing existing = Existing::refused;
  std::string_view remedy = "--force";  ///< Proposed in the error, beside another folder.
};

/// Creates the folder, checks that it is writable, and refuses or removes files of another run. Call it on one rank.
/// Throws: `plait::Error` that names folder and option.
void prepare_output(const OutputFolder& folder);

}  // namespace app
