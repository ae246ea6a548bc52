// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace plait::particles::detail {

/// Adds to the cost of a particle. Threads: interactions of a step do so concurrently.
inline void add_cost(float& cost, float more) noexcept {
  std::atomic_ref<float>{cost}.fetch_add(more, std::memory_order_relaxed);
}

}  // namespace plait::particles::detail
