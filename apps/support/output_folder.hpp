// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace app {

/// The folder for a run's files: `wanted` if not empty, else the folder `inside` of the run's folder under `plait run`,
/// else `otherwise`.
[[nodiscard]] std::filesystem::path choose_output(const std::filesystem::path& wanted,
                                                  const std::string& inside,
                                                  const std::filesystem::path& otherwise);

/// What happens to the files of another run.
enum class Existing : std::uint8_t { refused, kept, removed };

/// A folder that a run writes to.
struct OutputFolder {
  std::filesystem::path path;
  std::string_view option = "--output";  ///< The option that chooses it.
  std::string_view prefix;               ///< Of its files' names,
  std::string_view suffix = ".h5";       ///< and their ends.
  Existing existing = Existing::refused;
  std::string_view remedy = "--overwrite";  ///< Beside another folder.
};

/// Creates the folder and checks that it can be written to and holds no files of another run, if these are refused. On
/// one rank. Throws: `plait::Error` that names folder and option.
void prepare_output(const OutputFolder& folder);

}  // namespace app
