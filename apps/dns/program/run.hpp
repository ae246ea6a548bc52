// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dns/program/settings.hpp"

namespace dns {

/// Runs a flow on all ranks of MPI_COMM_WORLD; rank 0 prints. Returns the program's exit code. Collective.
/// Throws: `app::AgreedError` alike on all ranks; other trouble on the rank that met it.
[[nodiscard]] int run(const RunSettings& settings);

}  // namespace dns
