// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace app {

/// Where a run puts its files: `wanted` when it says something, else the folder `inside` of the run's folder under
/// `plait run`, else `otherwise`.
[[nodiscard]] std::filesystem::path choose_output(const std::filesystem::path& wanted,
                                                  const std::string& inside,
                                                  const std::filesystem::path& otherwise);

/// Whether a run may replace what another left.
enum class Existing : bool { is_kept, is_replaced };

/// Makes the folder and sees that it can be written to and, unless they may be replaced, holds no files of another run:
/// none whose name begins with `prefix` and ends with `suffix`. Throws: `plait::Error` that names folder and option.
void prepare_output(const std::filesystem::path& folder,
                    const std::string& prefix,
                    const std::string& suffix,
                    Existing existing);

}  // namespace app
