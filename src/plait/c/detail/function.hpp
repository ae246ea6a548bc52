// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "plait/c/detail/region_trace.hpp"
#include "plait/c/guard.hpp"
#include "plait/plait.h"
#include "plait/task/task_context.hpp"

namespace plait::c::detail {

/// Calls a function of the program in a task. Throws: `Error` if it does not return 0.
template <class Function>
void call_function(task::TaskContext& context, Function&& function) {
  const RegionsOfWorker regions{context.worker()};
  check_call(std::forward<Function>(function));
}

}  // namespace plait::c::detail
