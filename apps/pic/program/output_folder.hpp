// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "pic/program/settings.hpp"

namespace pic {

// Folders that are made, writable, and without files of another run. Collective over MPI_COMM_WORLD. Throw:
// `app::AgreedError` on all ranks.

[[nodiscard]] std::filesystem::path prepare_output(const RunSettings& settings, int rank);
[[nodiscard]] std::filesystem::path prepare_checkpoints(const RunSettings& settings, int rank);

}  // namespace pic
