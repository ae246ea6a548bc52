// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "plait/data/detail/element.hpp"

namespace plait::data::detail {

/// What a phase has each element do, step after step.
struct PhaseWork {
  void* function = nullptr;
  void (*call)(void* function, void* object, Turn& turn, std::uint64_t step) = nullptr;
  std::uint64_t steps = 0;
  void* inputs_function = nullptr;
  /// How many messages a step waits for; without, for none.
  std::uint64_t (*inputs)(void* inputs_function, void* object, std::uint64_t step) = nullptr;
};

}  // namespace plait::data::detail
