// SPDX-License-Identifier: Apache-2.0
// What a step is made of, and what comes after what.
#include "plait/particles/system.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/task/graph.hpp"

namespace plait::particles {

namespace {

using task::Task;
using task::TaskContext;
using task::TaskKind;

constexpr std::size_t pieces_a_worker = 2;
/// Communicators of a system's interactions follow one another from here.
constexpr std::uint32_t first_comm = 0x5900'0000;

}  // namespace

class System::Impl {
 public:
  Impl(comm::Endpoint& messages, task::Scheduler& scheduler, Particles& store, const SystemOptions& options);

  Interaction& add(std::unique_ptr<Interaction> interaction);
  void run(bool is_step);
  StepTimes take_times();

  struct Hook {
    std::string kind;
    RangeFunction function;
  };

  Particles& store_;
  std::vector<Hook> before_;
  std::vector<Hook> after_;
  std::vector<std::function<void()>> when_summed_;
  std::uint64_t steps_ = 0;

 private:
  void build_graph();
  Task add_hooks(std::span<const Hook> hooks, Task after, std::vector<Task>& tasks);
  Task add_for_pieces(const std::string& kind, RangeFunction function, Task after);
  Task add_sums(Task after, Task end);
  [[nodiscard]] PhaseTimes& phases(const TaskContext& context) { return phases_[context.worker().value()]; }

  comm::Endpoint& messages_;
  task::Scheduler& scheduler_;
  const SystemOptions options_;
  std::vector<std::unique_ptr<Interaction>> interactions_;
  std::vector<PhaseTimes> phases_;  ///< By worker.
  StepTimes times_;
  std::uint64_t updates_ = 0;  ///< Since trees were made.
  bool has_trees_ = false;

  std::optional<task::Graph> graph_;
  std::vector<Task> first_tasks_;  ///< What a step begins with,
  std::vector<Task> building_;     ///< either this
  std::vector<Task> refreshing_;   ///< or that,
  std::vector<Task> summing_;      ///< sums,
  std::vector<Task> last_tasks_;   ///< and what it ends with.
};

System::Impl::Impl(comm::Endpoint& messages, task::Scheduler& scheduler, Particles& store, const SystemOptions& options)
    : store_{store}, messages_{messages}, scheduler_{scheduler}, options_{options}, phases_(scheduler.worker_count()) {
  options_.space.check();
  if (options_.steps_between_trees == 0) {
    throw Error{ErrorCode::bad_argument, "trees are made in every step (1) or every few: 0 steps between them is none"};
  }
}

Interaction& System::Impl::add(std::unique_ptr<Interaction> interaction) {
  expect(!graph_, "a system's interactions are added before its first step");
  return *interactions_.emplace_back(std::move(interaction));
}

// ---- the graph ----

/// One task after the other: before, [decomposition, exchange,] trees, sums, after. Which of the two ways to trees is
/// active is chosen for each step.
void System::Impl::build_graph() {
  graph_.emplace();
  Task begin = graph_->join("step");
  first_tasks_ = {begin};
  Task moved = add_hooks(before_, begin, first_tasks_);
  if (options_.space.is_periodic()) {
    moved = add_for_pieces(
        "wrap",
        [this](Particles& store, std::size_t first, std::size_t last) {
          for (Vector& position : store.positions().subspan(first, last - first)) {
            position = options_.space.wrap(position);
          }
        },
        moved);
    first_tasks_.push_back(moved);
  }
  Task summed = graph_->task("summed", [this] {
    for (const auto& function : when_summed_) {
      function();
    }
  });
  const Task ready = add_sums(moved, summed);
  (void)ready;
  last_tasks_.push_back(summed);
  add_hooks(after_, summed, last_tasks_);
}

Task System::Impl::add_sums(Task after, Task end) {
  Task clear = add_for_pieces(
      "clear sums",
      [this](Particles& store, std::size_t first, std::size_t last) {
        std::ranges::fill(store[Particles::cost].subspan(first, last - first), 0.0F);
        for (const auto& interaction : interactions_) {
          interaction->clear_results(store, first, last);
        }
      },
      after);
  Task built = after;
  Task refreshed = after;
  std::vector<StepFrame> frames;
  for (std::uint32_t number = 0; number < interactions_.size(); ++number) {
    const StepFrame frame{messages_, store_, *graph_, scheduler_.worker_count(), comm::CommId{first_comm + number}};
    for (const Task& task : interactions_[number]->add_building_tasks(frame, built)) {
      building_.push_back(task);
      built = task;
    }
    for (const Task& task : interactions_[number]->add_refreshing_tasks(frame, refreshed)) {
      refreshing_.push_back(task);
      refreshed = task;
    }
    frames.push_back(frame);
  }
  clear.after(built).after(refreshed);
  summing_.push_back(clear);
  end.after(clear);
  for (std::size_t number = 0; number < interactions_.size(); ++number) {
    const std::vector<Task> tasks = interactions_[number]->add_summing_tasks(frames[number], clear, end);
    summing_.insert(summing_.end(), tasks.begin(), tasks.end());
  }
  return clear;
}

Task System::Impl::add_hooks(std::span<const Hook> hooks, Task after, std::vector<Task>& tasks) {
  for (const Hook& hook : hooks) {
    after = add_for_pieces(hook.kind, hook.function, after);
    tasks.push_back(after);
  }
  return after;
}

/// A task that spawns one for each piece of the particles that are here then.
Task System::Impl::add_for_pieces(const std::string& kind_name, RangeFunction function, Task after) {
  const TaskKind kind = graph_->kind(kind_name);
  Task task = graph_->task(kind_name, [this, kind, function = std::move(function)](TaskContext& context) {
    const std::size_t size = store_.size();
    const std::size_t pieces = scheduler_.worker_count() == 1 ? 1 : pieces_a_worker * scheduler_.worker_count();
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      const auto work =
          [this, &function, first = size * piece / pieces, last = size * (piece + 1) / pieces](TaskContext& inner) {
            const PhaseTimer timer{phases(inner), Phase::other};
            function(store_, first, last);
          };
      pieces == 1 ? work(context) : context.spawn({.kind = kind, .body = work, .object = piece});
    }
  });
  return task.after(after);
}

// ---- stepping ----

void System::Impl::run(bool is_step) {
  if (!graph_) {
    build_graph();
  }
  const bool builds = !has_trees_ || ++updates_ >= options_.steps_between_trees;
  std::vector<Task> active;
  const auto add_all = [&active](std::span<const Task> tasks) {
    active.insert(active.end(), tasks.begin(), tasks.end());
  };
  if (is_step) {
    add_all(first_tasks_);
  }
  add_all(builds ? building_ : refreshing_);
  add_all(summing_);
  add_all(is_step ? std::span<const Task>{last_tasks_} : std::span<const Task>{last_tasks_}.first(1));
  if (builds) {
    updates_ = 0;
    has_trees_ = true;
  }
  scheduler_.reset_worker_times();
  const auto start = std::chrono::steady_clock::now();
  scheduler_.run(*graph_, active);
  times_.wall += std::chrono::steady_clock::now() - start;
  for (const task::WorkerTimes& times : scheduler_.worker_times()) {
    times_.idle += times.total - times.busy;
  }
  if (is_step) {
    ++steps_;
    ++times_.steps;
  }
}

StepTimes System::Impl::take_times() {
  for (PhaseTimes& phases : phases_) {
    for (std::size_t phase = 0; phase < phase_count; ++phase) {
      times_.phases[phase] += std::exchange(phases[phase], {});
    }
  }
  for (const auto& interaction : interactions_) {
    interaction->take_times(times_);
  }
  return std::exchange(times_, {});
}

// ---- the handle ----

System::System(comm::Endpoint& messages, task::Scheduler& scheduler, Particles& store, const SystemOptions& options)
    : impl_{std::make_unique<Impl>(messages, scheduler, store, options)} {}
System::~System() = default;

Interaction& System::add(std::unique_ptr<Interaction> interaction) {
  return impl_->add(std::move(interaction));
}
void System::before(std::string kind, RangeFunction function) {
  impl_->before_.push_back({std::move(kind), std::move(function)});
}
void System::after(std::string kind, RangeFunction function) {
  impl_->after_.push_back({std::move(kind), std::move(function)});
}
void System::when_summed(std::function<void()> function) {
  impl_->when_summed_.push_back(std::move(function));
}
void System::update() {
  impl_->run(false);
}
void System::step() {
  impl_->run(true);
}
Particles& System::store() noexcept {
  return impl_->store_;
}
std::uint64_t System::steps_done() const noexcept {
  return impl_->steps_;
}
StepTimes System::take_times() {
  return impl_->take_times();
}

}  // namespace plait::particles
