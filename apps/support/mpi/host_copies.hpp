// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>

#include "plait/plait.hpp"

#include "support/output_folder.hpp"

namespace app {

/// Opens the copies of a run in the memory of hosts, in a folder that the option --copy-folder names. `remedy`: as that
/// of an `OutputFolder`. Collective. Throws: `AgreedError`.
[[nodiscard]] std::unique_ptr<plait::data::BuddyFiles> open_host_copies(plait::Runtime& runtime,
                                                                        const std::filesystem::path& folder,
                                                                        Existing existing,
                                                                        std::string_view remedy);

}  // namespace app
