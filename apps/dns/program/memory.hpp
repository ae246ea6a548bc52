// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "plait/plait.hpp"

namespace dns {

/// Compares the bytes that all ranks of each node need with a limit per node: `limit_gib`, or if 0, what the system has
/// available. Rank 0 prints both for the node with the least left. `needed`: by this rank. Collective.
/// Throws: `app::AgreedError` on all ranks if a node has too little.
void check_memory(plait::Runtime& runtime, std::uint64_t needed, double limit_gib);

}  // namespace dns
