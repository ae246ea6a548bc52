// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/coroutine.hpp"

#include "plait/base/error.hpp"

namespace plait::comm {

void AsyncOperation::promise_type::unhandled_exception() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    promise.complete({.source = error.rank(), .error = error.code()});
  } catch (...) {
    promise.complete({.error = ErrorCode::user_task});
  }
}

}  // namespace plait::comm
