// SPDX-License-Identifier: Apache-2.0
#include "plait/data/references/detail/stage.hpp"

#include <mutex>

#include "plait/data/references/detail/work_engine.hpp"

namespace plait::data::detail {
namespace {

/// Counts one thing off that the job waits for. Acquires what all of them have written.
bool counts_off(Job& job) noexcept {
  return job.waits.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

}  // namespace

void drop(Stage& stage) noexcept {
  if (stage.holders.fetch_sub(1, std::memory_order_acq_rel) != 1) {
    return;
  }
  Cell& cell = stage.cell;
  delete &stage;
  if (cell.stages.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    cell.destroy(cell);
  }
}

void pin(Stage& stage) noexcept {
  const std::lock_guard lock{stage.cell.lock};
  ++stage.pins;
}

Job* unpin(Stage& stage) noexcept {
  Use* modifier = nullptr;
  {
    const std::lock_guard lock{stage.cell.lock};
    --stage.pins;
    if (stage.pins == 0 && stage.is_made) {
      modifier = std::exchange(stage.modifier, nullptr);
    }
  }
  return modifier != nullptr && counts_off(*modifier->job) ? modifier->job : nullptr;
}

Job* make(Stage& stage) noexcept {
  Use* waiting = nullptr;
  Use* modifier = nullptr;
  {
    const std::lock_guard lock{stage.cell.lock};
    stage.is_made = true;
    waiting = std::exchange(stage.waiting, nullptr);
    if (stage.pins == 0) {
      modifier = std::exchange(stage.modifier, nullptr);
    }
  }
  Job* ready = nullptr;
  if (modifier != nullptr && counts_off(*modifier->job)) {
    ready = modifier->job;
    ready->next_ready = nullptr;
  }
  while (waiting != nullptr) {
    const Use& use = *waiting;
    waiting = use.next;  // the use may be gone when its job is counted off
    Job& job = *use.job;
    if (counts_off(job)) {
      job.next_ready = ready;
      ready = &job;
    }
  }
  return ready;
}

void attach(Use& use) noexcept {
  Stage& stage = *use.stage;
  const std::lock_guard lock{stage.cell.lock};
  if (use.mode == Mode::modify ? stage.is_made && stage.pins == 0 : stage.is_made) {
    return;
  }
  use.job->waits.fetch_add(1, std::memory_order_relaxed);  // published by the lock
  if (use.mode == Mode::modify) {
    stage.modifier = &use;
  } else {
    use.next = std::exchange(stage.waiting, &use);
  }
}

void forget(const Use& use) noexcept {
  Stage& stage = *use.stage;
  const std::lock_guard lock{stage.cell.lock};
  if (stage.modifier == &use) {
    stage.modifier = nullptr;
  }
  for (Use** at = &stage.waiting; *at != nullptr; at = &(*at)->next) {
    if (*at == &use) {
      *at = use.next;
      return;
    }
  }
}

bool is_free(Stage& stage, Mode mode) noexcept {
  const std::lock_guard lock{stage.cell.lock};
  return stage.is_made && (mode != Mode::modify || stage.pins == 0);
}

void release(Stage& stage, bool is_pinned) noexcept {
  if (is_pinned) {
    if (Job* const job = unpin(stage)) {
      job->engine.start_from_outside(*job);
    }
  }
  drop(stage);
}

}  // namespace plait::data::detail
