// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/plait.hpp"

#include "dns/program/settings.hpp"

namespace dns {

/// Runs a flow on all ranks of `runtime`, which are those of MPI_COMM_WORLD; rank 0 prints. Collective.
/// Throws: `app::AgreedError` on all ranks; other errors on the rank that detects them.
void run(plait::Runtime& runtime, const RunSettings& settings);

}  // namespace dns
