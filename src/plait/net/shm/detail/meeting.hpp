// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "plait/net/exchange.hpp"
#include "plait/net/shm/detail/layout.hpp"
#include "plait/net/shm/detail/process.hpp"
#include "plait/net/shm/shm_driver.hpp"

namespace plait::net::detail::shm {

/// The segment in this process, unmapped when its last user ends.
using Mapping = std::shared_ptr<std::byte>;

/// What each rank knows when all have met.
struct Meeting {
  Layout layout;
  Mapping mapping;
  std::vector<ProcessId> processes;  ///< By rank.
  SingleCopy single_copy = SingleCopy::never;
};

/// Without buffers for bulk data.
[[nodiscard]] Layout layout_for(std::uint32_t rank_count, const ShmOptions& options);

/// Checks that all ranks can access each other, and creates and maps the segment. Collective; throws on all ranks or
/// none.
[[nodiscard]] Meeting meet(Rank self, std::uint32_t rank_count, const Exchange& exchange, const ShmOptions& options);

}  // namespace plait::net::detail::shm
