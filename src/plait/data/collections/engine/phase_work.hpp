// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "plait/data/collections/engine/mail.hpp"

namespace plait::data::detail {

/// What a phase has each element do, step after step.
struct PhaseWork {
  void* function = nullptr;
  void (*call)(void* function, void* object, ElementContext& context, std::uint64_t step) = nullptr;
  std::uint64_t steps = 0;
  void* inputs_function = nullptr;
  /// How many messages a step waits for; null: none.
  std::uint64_t (*inputs)(void* inputs_function, void* object, std::uint64_t step) = nullptr;
  std::shared_ptr<void> keeps;  ///< Owns the functions of a phase that outlives the call that starts it.
};

}  // namespace plait::data::detail
