// SPDX-License-Identifier: Apache-2.0
#include "plait/data/references/detail/work_engine.hpp"

#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "plait/data/references/work.hpp"

namespace plait::data::detail {
namespace {

constexpr int described_max = 20;

/// Returns what a job, in traces `id`, came after: the makers of its values, and the readers of those that it modifies.
std::vector<std::uint64_t> tasks_before(Job& job, std::uint64_t id) {
  std::vector<std::uint64_t> earlier;
  for (const Use& use : job.uses()) {
    const std::lock_guard lock{use.stage->cell.lock};
    if (use.stage->made_by != 0) {
      earlier.push_back(use.stage->made_by);
    }
    if (use.mode == Mode::read) {
      use.stage->read_by.push_back(id);
    } else if (use.mode == Mode::modify) {
      earlier.insert(earlier.end(), use.stage->read_by.begin(), use.stage->read_by.end());
      use.next_stage->made_by = id;
    }
  }
  if (job.result != nullptr) {
    job.result->made_by = id;  // no other thread sees it before it is made
  }
  return earlier;
}

}  // namespace

void Job::released(const comm::Status& status) noexcept {
  engine.message_is_done(*this, status);
}

WorkEngine::WorkEngine(comm::Endpoint& endpoint,
                       task::Scheduler& scheduler,
                       trace::Recorder& recorder,
                       const WorkOptions& options)
    : endpoint_{endpoint},
      comms_{endpoint.claim_comms(1)},
      recorder_{recorder},
      kinds_{recorder},
      trace_{recorder.thread(WorkerId{}, fmt::format("order of work {:#x}", comms_[0].value()))},
      front_{scheduler, "work", options.window, [this] { return describe_waiting(); }} {}

WorkEngine::~WorkEngine() {
  front_.abandon();
  for (const auto& job : all_) {  // of a failed run: what has ended has no kernel any more
    for (const Use& use : job->uses()) {
      forget(use);
    }
  }
  for (const auto& job : all_) {
    give(*job);
  }
}

// ---- making jobs ----

Job& WorkEngine::take(const task::detail::KindName& kind, std::size_t use_count) {
  throw_if_failed();
  front_.open();
  const std::lock_guard lock{lock_};
  if (free_ == nullptr) {
    Job& made = *all_.emplace_back(std::make_unique<Job>(*this));
    made.body = [&made](task::TaskContext& context) { made.engine.execute(made, context); };
    made.ending = this;
    free_ = &made;
  }
  auto& job = static_cast<Job&>(*std::exchange(free_, free_->next));
  job.next = nullptr;
  job.role = task::detail::Role::compute;
  job.label = &kinds_.label(kind);
  job.last_worker = {};
  job.cost_ns = 0;
  job.caused_by = 0;
  job.is_to_start = false;
  job.has_run = false;
  job.submitted = {};
  job.use_count = static_cast<std::uint8_t>(use_count);
  if (use_count > Job::uses_in_place) {
    job.many_uses.resize(use_count);
  }
  job.waits.store(1, std::memory_order_relaxed);  // published when the job is handed over
  return job;
}

const task::detail::KindName& WorkEngine::kind(std::string_view name) {
  const std::lock_guard lock{lock_};
  return kinds_.kind(name);
}

void WorkEngine::count_in(Job& job) {
  front_.begin();
  front_.run().expect_end(job);
}

void WorkEngine::launch(Job& job) {
  count_in(job);
  if (trace_.is_on() && is_owner() && bodies_of_owner_ == 0) {
    job.submitted = recorder_.now();
  }
  if (job.waits.fetch_sub(1, std::memory_order_acq_rel) == 1) {  // with counts_off()
    if (is_owner()) {
      front_.move();  // this thread asks
      front_.run().ready(job);
    } else {
      start_from_outside(job);
    }
  }
  if (front_.is_full() && is_owner() && bodies_of_owner_ == 0) {
    front_.run().help_until([this] {
      return !front_.is_moving() || front_.has_room();  // stuck until a reference is dropped, or enough
    });
    throw_if_failed();
  }
}

void WorkEngine::start_from_outside(Job& job) noexcept {
  front_.move();  // who does this is in motion itself, or the owner
  job.role = task::detail::Role::event;
  job.is_to_start = true;
  front_.run().has_ended(job);
}

void WorkEngine::launch_receive(Job& job, const comm::Address& from, Bytes& buffer) {
  job.role = task::detail::Role::event;
  job.is_to_start = true;
  count_in(job);
  front_.move();  // as above
  try {
    static_cast<void>(endpoint_.receive(from, buffer, &job));
  } catch (const Error& error) {
    fail(error);
  }
}

void WorkEngine::expect_send(Job& job) {
  job.role = task::detail::Role::event;
  job.has_run = true;
  count_in(job);
}

void WorkEngine::post_send(Job& job, const comm::Address& to, std::span<const std::byte> data) {
  front_.move();  // the body that calls is
  static_cast<void>(endpoint_.send(to, data, {.completion = &job}));
}

void WorkEngine::message_is_done(Job& job, const comm::Status& status) noexcept {
  if (status.error) {
    front_.run().fail(Error{*status.error, "a reference that was on its way to another rank is lost", status.source});
    return;
  }
  front_.run().has_ended(job);
}

// ---- running ----

void WorkEngine::execute(Job& job, task::TaskContext& context) {
  if (trace_.is_on()) {
    const std::uint64_t id = front_.run().id_of(job);
    const std::vector<std::uint64_t> earlier = tasks_before(job, id);
    const std::lock_guard lock{lock_};
    trace_.task_order({.id = id, .time = recorder_.now(), .submitted = job.submitted, .earlier = earlier});
  }
  if (context.worker().value() != 0) {
    job.call(job);
  } else {
    ++bodies_of_owner_;  // not touched by other workers
    try {
      job.call(job);
    } catch (...) {
      --bodies_of_owner_;
      throw;
    }
    --bodies_of_owner_;
  }
  job.has_run = true;
}

void WorkEngine::ended(task::detail::Node& node, task::detail::ReadySink& sink) noexcept {
  auto& job = static_cast<Job&>(node);
  if (job.is_to_start) {
    job.is_to_start = false;
    job.role = task::detail::Role::compute;
    sink.again(job);
    return;
  }
  if (!job.has_run) {
    return;  // the run has failed: nothing comes after it
  }
  Job* ready = nullptr;
  const auto add = [&ready](Job* first) {
    while (first != nullptr) {
      Job* const next = std::exchange(first->next_ready, ready);
      ready = std::exchange(first, next);
    }
  };
  for (const Use& use : job.uses()) {
    if (use.mode == Mode::read) {
      if (Job* const freed = unpin(*use.stage)) {
        freed->next_ready = nullptr;
        add(freed);
      }
    } else if (use.mode == Mode::modify) {
      add(make(*use.next_stage));
    }
  }
  if (job.result != nullptr) {
    add(make(*job.result));
  }
  give(job);
  // One that ends mostly sets one free: then nothing changes. Those are counted before they can end.
  std::uint32_t count = 0;
  for (const Job* one = ready; one != nullptr; one = one->next_ready) {
    ++count;
  }
  // Before the next: a thread that finds nothing in motion sees also what has ended.
  front_.end();
  if (count > 1) {
    front_.move(count - 1);
  } else if (count == 0) {
    front_.rest();  // of the last job the last touch
  }
  while (ready != nullptr) {
    Job& one = *ready;
    ready = one.next_ready;
    sink.ready(one);
  }
}

/// Releases the values of a job, and returns it to the pool.
void WorkEngine::give(Job& job) noexcept {
  job.kernel.reset();
  for (Use& use : job.uses()) {
    drop(*use.stage);
    if (use.next_stage != nullptr) {
      drop(*use.next_stage);
    }
    use = {};
  }
  job.use_count = 0;
  job.many_uses.clear();
  if (job.result != nullptr) {
    drop(*std::exchange(job.result, nullptr));
  }
  const std::lock_guard lock{lock_};
  job.next = std::exchange(free_, &job);
}

// ---- waiting, trouble ----

/// Bodies, and other threads, leave the failure of the run to its owner.
void WorkEngine::throw_if_failed() {
  if (front_.has_failed() || (is_owner() && bodies_of_owner_ == 0)) {
    front_.throw_if_failed();
  }
}

void WorkEngine::fail(const Error& error) {
  front_.open().fail(error);
  throw_if_failed();
  throw Error{error};  // in a body
}

void WorkEngine::throw_if_inside_a_body() const {
  if (bodies_of_owner_ > 0 || !is_owner()) {
    throw Error{ErrorCode::bad_argument,
                "a body waits for a reference, which may never end: pass the reference to a deferred task instead"};
  }
}

void WorkEngine::help_until_free(Stage& stage, Mode mode) {
  throw_if_failed();
  if (is_free(stage, mode)) {
    return;
  }
  throw_if_inside_a_body();
  front_.open();
  help_until([&stage, mode] { return is_free(stage, mode); }, "fetch", &stage.cell);
}

void WorkEngine::help_until(const std::function<bool()>& is_done, const char* wish, const Cell* of) {
  bool is_stuck = false;
  front_.run().help_until([&] {
    const bool is_quiet = !front_.is_moving();  // before the question: then it is final
    if (is_done()) {
      return true;
    }
    is_stuck = is_quiet;
    return is_stuck;
  });
  throw_if_failed();
  if (is_stuck) {
    fail(
        Error{ErrorCode::bad_argument,
              fmt::format("{}({}) on rank {} would wait for ever for a modification that waits for a reading reference "
                          "of the program: use or destroy that reference first. {}",
                          wish,
                          of != nullptr ? of->type : std::string_view{},
                          endpoint_.self().value(),
                          describe_waiting())});
  }
}

void WorkEngine::wait() {
  throw_if_failed();
  throw_if_inside_a_body();
  if (!front_.is_open()) {
    return;
  }
  help_until([this] { return front_.unfinished() == 0 && !front_.is_moving(); }, "wait", nullptr);
  front_.close();
}

std::string WorkEngine::describe_waiting() {
  const std::lock_guard lock{lock_};
  std::string text = "These wait:";
  int count = 0;
  for (const auto& job : all_) {
    if (job->kernel.has_value() && job->waits.load(std::memory_order_relaxed) > 0 && ++count <= described_max) {
      text += fmt::format(" {};", job->label->name);
    }
  }
  return count > described_max ? text + fmt::format(" and {} more", count - described_max) : text;
}

}  // namespace plait::data::detail
