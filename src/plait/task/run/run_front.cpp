// SPDX-License-Identifier: Apache-2.0
#include "plait/task/run/run_front.hpp"

#include <fmt/format.h>

namespace plait::task {

RunFront::RunFront(Scheduler& scheduler,
                   std::string_view name,
                   std::uint32_t window,
                   std::function<std::string()> describe)
    : scheduler_{scheduler}, name_{name}, window_{window}, describe_{std::move(describe)} {
  if (window == 0) {
    throw Error{ErrorCode::bad_argument, fmt::format("the window of a {} is 0 tasks: set it to 1 or more", name_)};
  }
}

void RunFront::close() {
  try {
    open().close();
  } catch (...) {
    has_failed_ = true;
    throw;
  }
  run_.reset();
}

void RunFront::fail(const Error& error) {
  open().fail(error);
  throw_if_failed();
  throw Error{error};  // not reached: what has failed throws
}

void RunFront::throw_if_failed() {
  if (has_failed_) {
    throw Error{ErrorCode::bad_argument, fmt::format("this {} has failed before: it can only be destroyed", name_)};
  }
  if (run_ && run_->has_failed()) {
    has_failed_ = true;
    run_->close();
  }
}

}  // namespace plait::task
