// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "pic/program/settings.hpp"

namespace pic {

/// The folder for files: made, writable, and without files that this run would replace. Collective over MPI_COMM_WORLD.
/// Throws: `SettingsError` on all ranks.
[[nodiscard]] std::filesystem::path prepare_output(const RunSettings& settings, int rank);

}  // namespace pic
