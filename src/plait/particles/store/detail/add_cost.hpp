// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace plait::particles::detail {

/// Adds to the cost of a particle. Threads: interactions of a step do so concurrently. Of two additions at the same
/// time one may be lost: costs are weights, and an exact sum would take a tenth of a step's time.
inline void add_cost(float& cost, float more) noexcept {
  const std::atomic_ref<float> shared{cost};
  shared.store(shared.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

}  // namespace plait::particles::detail
