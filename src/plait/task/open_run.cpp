// SPDX-License-Identifier: Apache-2.0
#include "plait/task/open_run.hpp"

#include <utility>

#include "plait/task/run/detail/scheduler_core.hpp"

namespace plait::task {

OpenRun::OpenRun(Scheduler& scheduler, std::function<std::string()> describe)
    : runs_{scheduler.core_->runs}, state_{runs_.open(nullptr, std::move(describe))} {}

OpenRun::~OpenRun() {
  if (is_over()) {
    return;
  }
  if (!state_->closes_when && !state_->is_closed.load(std::memory_order_relaxed)) {  // of this thread's doing
    if (!is_quiet()) {
      fail(Error{ErrorCode::user_task, "a run was left before its tasks had ended: wait for them"});
    }
    runs_.close(*state_);
  }
  try {
    wait();
  } catch (const std::exception&) {
    // The program did not ask: a later start or wait throws.
  }
}

void OpenRun::submit(detail::Node& node) {
  expect_end(node);
  if (node.waits.fetch_sub(1, std::memory_order_acq_rel) == 1) {  // with the owner's counting down
    runs_.make_ready(node);
  }
}

void OpenRun::expect_end(detail::Node& node) noexcept {
  runs_.count_in(*state_, node);
}

void OpenRun::ready(detail::Node& node) noexcept {
  runs_.make_ready(node);
}

void OpenRun::has_ended(detail::Node& node) noexcept {
  runs_.note(node);
}

void OpenRun::help_until(const std::function<bool()>& is_done) {
  runs_.help(*state_, {.is_done = &is_done});
}

bool OpenRun::test() {
  return runs_.test(*state_);
}

void OpenRun::fail(const Error& error) noexcept {
  runs_.fail(error);
}

bool OpenRun::has_failed() const noexcept {
  return runs_.has_failed();
}

void OpenRun::wait() {
  runs_.wait(*state_);
}

comm::Request OpenRun::request() {
  return runs_.request(*state_);
}

bool OpenRun::is_quiet() const noexcept {
  return state_->open_tasks() <= (state_->is_closed.load(std::memory_order_relaxed) ? 0U : 1U);
}

bool OpenRun::is_over() const noexcept {
  return state_->is_over.load(std::memory_order_acquire);  // with Runs::finish()
}

void OpenRun::close() {
  runs_.close(*state_);
  wait();
}

void OpenRun::close_when(std::function<bool()> is_done) {
  runs_.close_when(*state_, std::move(is_done));
}

void OpenRun::close_later() {
  runs_.close(*state_);
  runs_.leave_alone(*state_);
}

}  // namespace plait::task
