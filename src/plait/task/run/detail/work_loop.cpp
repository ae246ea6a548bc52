// SPDX-License-Identifier: Apache-2.0
#include "plait/task/run/detail/work_loop.hpp"

#include <cstdint>
#include <utility>

#include "plait/task/run/detail/runs.hpp"

namespace plait::task::detail {

namespace {

constexpr std::uint32_t polls_between_sums = 16;

void add_busy(Worker& worker, nanoseconds until) noexcept {
  worker.busy_ns.fetch_add((until - worker.busy_since).count(), std::memory_order_relaxed);  // a statistic
}

/// That a thread works as this worker, for a scope.
class Inside {
 public:
  Inside(SchedulerState& state, Worker& worker) : state_{state}, worker_{worker}, start_{state.recorder.now()} {
    worker.is_inside = true;
    worker.is_busy = false;
    worker.now = worker.last_poll = start_;
    state.sleep.begin_work();
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() {
    worker_.now = state_.recorder.now();
    if (worker_.is_busy) {
      add_busy(worker_, worker_.now);
    }
    worker_.total_ns.fetch_add((worker_.now - start_).count(), std::memory_order_relaxed);  // a statistic
    worker_.is_inside = false;
    state_.sleep.end_work();
  }

 private:
  SchedulerState& state_;
  Worker& worker_;
  nanoseconds start_;
};

}  // namespace

void attend(Worker& worker) {
  if (std::exchange(worker.is_unattended, false)) {
    worker.queue.set_unattended(false);
  }
}

void WorkLoop::serve(Worker& worker) {
  worker.thread.store(thread_number(state_.executor), std::memory_order_relaxed);  // for this thread's own questions
  while (state_.sleep.until([this] { return state_.runs.has_work() && !state_.failure.has_failed(); })) {
    work(worker, nullptr);
  }
}

void WorkLoop::help(Worker& worker, Until until) {
  attend(worker);
  work(worker, &until);
}

/// Worker 0 asks `until` after each task; the others, which have none, whether a run is open when they have no task.
void WorkLoop::work(Worker& worker, const Until* until) {
  const Inside inside{state_, worker};
  Backoff backoff{state_.options.wait, crowding_};
  std::uint32_t polls = 0;
  while (!state_.failure.has_failed()) {
    if (!state_.noted.is_empty()) {
      lifecycle_.finish_noted(worker);
    }
    if (until != nullptr && seat_.is_wished()) {
      worker.is_inside = false;
      seat_.lend();
      worker.is_inside = true;
      attend(worker);
    }
    if (Node* const node = queues_.next(worker)) {
      if (!std::exchange(worker.is_busy, true)) {
        begin_to_work(worker);
        backoff.reset();
      }
      lifecycle_.execute(worker, *node);
      if (worker.is_now_fresh && worker.now - worker.last_poll > state_.options.poll_interval) {
        poll(worker);
      }
      if (until != nullptr && (*until)()) {
        return;
      }
      continue;
    }
    const bool was_busy = std::exchange(worker.is_busy, false);
    if (was_busy) {
      add_busy(worker, state_.recorder.now());
    }
    state_.sleep.looks_for_tasks();
    // The workers that have tasks write what is summed here.
    if (was_busy || backoff.must_sleep() || state_.executor != nullptr || ++polls % polls_between_sums == 0) {
      runs_.settle();
    }
    if (is_done(until)) {
      return;
    }
    worker.is_now_fresh = false;
    if (state_.endpoint.progress() > 0) {
      backoff.reset();
      worker.now = state_.recorder.now();
      worker.last_poll = worker.now;
    } else {
      idle(worker, backoff);
    }
  }
}

void WorkLoop::begin_to_work(Worker& worker) const noexcept {
  worker.now = state_.recorder.now();
  worker.is_now_fresh = true;
  worker.busy_since = worker.now;
  state_.sleep.looks_for_tasks();
}

/// Between two tasks.
void WorkLoop::poll(Worker& worker) {
  add_busy(worker, worker.now);
  state_.endpoint.progress();
  state_.failure.see_endpoint();    // a worker that always has a task never comes to idle()
  if (state_.runs.has_several()) {  // of which one may be over, or stuck, though there are tasks
    runs_.settle();
    runs_.watch(worker, Runs::Watching::if_due);
  }
  worker.now = state_.recorder.now();
  worker.is_now_fresh = true;
  worker.last_poll = worker.now;
  worker.busy_since = worker.now;
}

void WorkLoop::idle(Worker& worker, Backoff& backoff) {
  if (state_.failure.see_endpoint()) {
    return;
  }
  if (state_.executor != nullptr) {
    worker.now = state_.recorder.now();
    runs_.watch(worker, Runs::Watching::now);
    state_.sleep.shortly({}, [this] { return state_.failure.has_failed(); });
    return;
  }
  if (state_.endpoint.activity().is_moving_bulk()) {
    crowding_.give_way();
    return;
  }
  if (backoff.must_sleep()) {
    worker.now = state_.recorder.now();
    runs_.watch(worker, Runs::Watching::now);
  }
  // The only worker is woken by no other: it polls the network again after a short sleep.
  if (backoff.must_sleep() && state_.has_several_workers()) {
    state_.sleep.shortly(backoff.next_sleep(),
                         [this] { return !state_.runs.has_work() || state_.failure.has_failed(); });
    backoff.count_look();
  } else {
    backoff.pause();
  }
}

}  // namespace plait::task::detail
