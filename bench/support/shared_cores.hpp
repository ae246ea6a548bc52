// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "plait/base/topology.hpp"

#include "support/raw_mpi.hpp"

namespace bench {

/// Whether there are more ranks than cores, all ranks being on this machine.
[[nodiscard]] inline bool is_crowded() {
  return plait::is_oversubscribed(static_cast<std::uint32_t>(RawMpi::rank_count()), 1);
}

}  // namespace bench
