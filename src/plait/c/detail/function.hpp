// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "plait/c/detail/region_trace.hpp"
#include "plait/plait.h"
#include "plait/task/task_context.hpp"

namespace plait::c::detail {

/// Throws what a function of the program has reported: its own error with a sentence, if it has set one, or
/// `user_task` with its result.
[[noreturn]] void throw_result(int result);

/// Calls a function of the program in a task. Throws: `Error` if it does not return 0.
template <class Function>
void call_function(task::TaskContext& context, Function&& function) {
  const RegionsOfWorker regions{context.worker()};
  plait_fail(PLAIT_SUCCESS, "");  // a sentence that is found later is the function's
  if (const int result = function(); result != 0) [[unlikely]] {
    throw_result(result);
  }
}

}  // namespace plait::c::detail
