// SPDX-License-Identifier: Apache-2.0
#include "plait/task/open_run.hpp"

#include <utility>

#include "plait/task/detail/node.hpp"

namespace plait::task {

OpenRun::OpenRun(Scheduler& scheduler, std::function<std::string()> describe) : scheduler_{scheduler} {
  scheduler_.open(std::move(describe));
}

OpenRun::~OpenRun() {
  if (!is_open_) {
    return;
  }
  if (scheduler_.open_tasks() > 1) {  // a hint: who adds is this thread
    fail(Error{ErrorCode::user_task, "a run was left before its tasks had ended: wait for them"});
  }
  try {
    close();
  } catch (const std::exception&) {
    // Whoever needed to know has not waited.
  }
}

void OpenRun::submit(detail::Node& node) {
  expect_end(node);
  if (node.waits.fetch_sub(1, std::memory_order_acq_rel) == 1) {  // with the owner's counting down
    scheduler_.start(node);
  }
}

void OpenRun::expect_end(detail::Node& node) noexcept {
  scheduler_.count_in(node);
}

void OpenRun::close() {
  is_open_ = false;
  scheduler_.close();
}

}  // namespace plait::task
