// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "pic/program/settings.hpp"

namespace pic {

/// Runs a problem on all ranks of MPI_COMM_WORLD; rank 0 prints. `command`: the command line, for the trace. Returns
/// the program's exit code: 1 when a particle of the analytic problem is not where it belongs. Collective. Throws:
/// `app::AgreedError` on all ranks; other errors on the rank that met them.
[[nodiscard]] int run(const RunSettings& settings, const std::vector<std::string>& command);

}  // namespace pic
