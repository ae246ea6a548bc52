// SPDX-License-Identifier: Apache-2.0
// In programs that are linked with the engine: what is preloaded elsewhere is known to the linker.
#include "plait/accelerate/enter.hpp"

extern "C" plait::accelerate::StartEngine plait_accelerate_start;

namespace plait::accelerate {

void start_engine(const Preload& offered) noexcept {
  plait_accelerate_start(offered);
}

void* find(Entry& entry) noexcept {
  void* const real = reinterpret_cast<void*>(linked_functions()[&entry - entries().data()]);
  entry.real.store(real, std::memory_order_relaxed);  // any finder gets the same value
  return real;
}

}  // namespace plait::accelerate
