// SPDX-License-Identifier: Apache-2.0
#include "plait/task/open_run.hpp"

#include <utility>

#include "plait/task/run/detail/scheduler_core.hpp"

namespace plait::task {

OpenRun::OpenRun(Scheduler& scheduler, std::function<std::string()> describe)
    : Run{scheduler.core_->runs.open(nullptr, std::move(describe))} {}

OpenRun::~OpenRun() {
  if (!is_over() && !state_->closes_when && !state_->is_closed.load(std::memory_order_relaxed)) {  // of this thread
    if (!is_quiet()) {
      fail(Error{ErrorCode::user_task, "a run was left before its tasks had ended: wait for them"});
    }
    runs().close(*state_);
  }
}

detail::Runs& OpenRun::runs() const noexcept {
  return state_->runs;
}

void OpenRun::submit(detail::Node& node) {
  expect_end(node);
  if (node.waits.fetch_sub(1, std::memory_order_acq_rel) == 1) {  // with the owner's counting down
    runs().make_ready(node);
  }
}

void OpenRun::expect_end(detail::Node& node) noexcept {
  runs().count_in(*state_, node);
}

std::uint64_t OpenRun::id_of(const detail::Node& node) const noexcept {
  return state_->id_of(node);
}

void OpenRun::ready(detail::Node& node) noexcept {
  runs().make_ready(node);
}

void OpenRun::has_ended(detail::Node& node) noexcept {
  runs().note(node);
}

void OpenRun::help_until(const std::function<bool()>& is_done) {
  runs().help(*state_, {.is_done = &is_done});
}

void OpenRun::fail(const Error& error) noexcept {
  runs().fail(error);
}

bool OpenRun::has_failed() const noexcept {
  return runs().has_failed();
}

bool OpenRun::is_quiet() const noexcept {
  return state_->open_tasks() <= (state_->is_closed.load(std::memory_order_relaxed) ? 0U : 1U);
}

void OpenRun::close() {
  runs().close(*state_);
  wait();
}

void OpenRun::close_when(std::function<bool()> is_done) {
  runs().close_when(*state_, std::move(is_done));
}

}  // namespace plait::task
