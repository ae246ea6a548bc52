// SPDX-License-Identifier: Apache-2.0
// The tasks of a step and their order.
#include "plait/particles/steps/detail/tree_driver.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait::particles::detail {
namespace {

using task::Task;
using task::TaskContext;
using task::TaskKind;

constexpr std::size_t pieces_a_worker = 2;

}  // namespace

TreeDriver::TreeDriver(const DriverPlace& place, const SystemOptions& options, const Parts& parts)
    : place_{place},
      options_{options},
      parts_{parts},
      next_domain_{place.domain},
      phases_(place.scheduler.worker_count()),
      steps_{options.resumed ? options.resumed->count : 0} {
  prepare_resumption();
  build_graph();
}

void TreeDriver::prepare_resumption() noexcept {
  has_trees_ = false;
  if (const std::uint64_t between = options_.steps_between_decompositions; between > 0) {
    next_cut_ = (steps_ + between - 1) / between * between;
  }
}

std::size_t TreeDriver::pieces() const {
  const std::uint32_t workers = place_.scheduler.worker_count();
  return workers == 1 ? 1 : pieces_a_worker * workers;
}

void TreeDriver::take_phases(PhaseTimes& times) {
  for (PhaseTimes& phases : phases_) {
    move_times(phases, times);
  }
}

/// In sequence: before, [decomposition, exchange,] trees, sums, after. Each step activates building or refreshing.
void TreeDriver::build_graph() {
  Task begin = graph_.join("step");
  tasks_.first = {begin};
  const Task moved = add_hooks(parts_.hooks.before, begin, tasks_.first);
  Task arrived = moved;
  if (place_.space.is_periodic()) {
    arrived = add_wrap(arrived);
    tasks_.exchanging.push_back(arrived);
  }
  Task summed = graph_.task("summed", [this] {
    for (const auto& function : parts_.hooks.when_summed) {
      function();
    }
  });
  if (is_parallel()) {
    add_decomposition(arrived);
    arrived = add_exchange(arrived);
  }
  add_sums(moved, arrived, summed);
  tasks_.last.push_back(summed);
  const Task ended = add_hooks(parts_.hooks.after, summed, tasks_.last);
  tasks_.finishing = {summed};
  if (parts_.steps != nullptr && parts_.steps->are_chosen()) {
    for (std::size_t number = 0; number < parts_.hooks.after.size(); ++number) {
      if (!parts_.hooks.after[number].is_of_integrator) {  // criteria and the first kick read their results
        Task task = tasks_.last[number + 1];
        task.after(tasks_.finishing.back());
        tasks_.finishing.push_back(task);
      }
    }
    add_choice(tasks_.finishing.back(), ended);
  }
}

Task TreeDriver::add_wrap(Task after) {
  return add_for_pieces(
      "wrap",
      [this](const TaskContext&, std::size_t first, std::size_t last) { place_.space.wrap(place_.store, first, last); },
      after);
}

/// Ranks agree on the length of the next step.
void TreeDriver::add_choice(Task summed, Task ended) {
  Task limit = add_for_pieces(
      "limit steps",
      [this](const TaskContext& context, std::size_t first, std::size_t last) {
        parts_.steps->limit(place_.store, first, last, context.worker().value());
      },
      ended);
  limit.after(summed);
  Task agree = graph_.task("agree on step", [this, kind = graph_.kind("agree on step")](TaskContext& context) {
    context.wait_for(kind, parts_.steps->agree());
  });
  agree.after(limit);
  tasks_.choosing = {limit, agree};
}

/// The next exchange uses the new boundaries: only the end of the step waits for them.
void TreeDriver::add_decomposition(Task after) {
  const TaskKind kind = graph_.kind("cut domains");
  Task choose = graph_.task("choose samples", [this](TaskContext& context) {
    const PhaseTimer timer{phases(context), Phase::decompose};
    place_.decomposition.choose(place_.store);
  });
  Task cut = graph_.task("cut domains", [this, kind](TaskContext& context) {
    const PhaseTimer timer{phases(context), Phase::decompose};
    next_domain_ = place_.domain;
    context.wait_for(kind, place_.decomposition.cut(next_domain_));
  });
  choose.after(after);
  cut.after(choose);
  tasks_.decomposing = {choose, cut};
}

Task TreeDriver::add_exchange(Task after) {
  const TaskKind search_kind = graph_.kind("find leavers");
  const TaskKind move_kind = graph_.kind("exchange particles");
  Task search = graph_.task("find leavers", [this, search_kind](TaskContext& context) {
    const std::size_t count = pieces();
    place_.exchange.begin_search(place_.domain, static_cast<std::uint32_t>(count));
    for (std::uint32_t piece = 0; piece < count; ++piece) {
      const auto work = [this, piece](TaskContext& inner) {
        const PhaseTimer timer{phases(inner), Phase::exchange};
        place_.exchange.search_piece(piece);
      };
      count == 1 ? work(context) : context.spawn({.kind = search_kind, .body = work, .object = piece});
    }
  });
  Task move = graph_.task("exchange particles", [this, move_kind](TaskContext& context) {
    context.wait_for(move_kind, place_.exchange.move(Travel::neighbors));
  });
  Task take = graph_.task("take in particles", [this](TaskContext& context) {
    const PhaseTimer timer{phases(context), Phase::exchange};
    place_.exchange.finish();
  });
  search.after(after).after(tasks_.decomposing.front());  // which reads the positions that this wraps
  move.after(search);
  take.after(move);
  tasks_.exchanging.insert(tasks_.exchanging.end(), {search, move, take});
  return take;
}

/// Builds wait for arriving particles. Refreshes, in steps without an exchange, wait for the drift.
void TreeDriver::add_sums(Task moved, Task arrived, Task end) {
  Task clear = add_for_pieces(
      "clear sums",
      [this](const TaskContext&, std::size_t first, std::size_t last) {
        std::ranges::fill(place_.store[Particles::cost].subspan(first, last - first), 0.0F);
        for (const SystemInteraction& interaction : parts_.interactions) {
          interaction.sum->clear_results(place_.store, first, last);
        }
      },
      arrived);
  clear.after(moved);
  Task built = arrived;
  Task refreshed = moved;
  std::vector<StepFrame> frames;
  std::optional<Task> last_waiting;
  for (std::uint32_t number = 0; number < parts_.interactions.size(); ++number) {
    const StepFrame frame{place_.messages,
                          place_.store,
                          graph_,
                          place_.scheduler.worker_count(),
                          place_.space,
                          parts_.interactions[number].comm[0],
                          last_waiting,
                          nullptr,
                          place_.domain.grid(),
                          options_.steps_between_trees};
    for (const Task& task : parts_.interactions[number].sum->add_building_tasks(frame, built)) {
      tasks_.building.push_back(task);
      built = task;
    }
    for (const Task& task : parts_.interactions[number].sum->add_refreshing_tasks(frame, refreshed)) {
      tasks_.refreshing.push_back(task);
      refreshed = task;
    }
    frames.push_back(frame);
  }
  clear.after(built).after(refreshed);
  tasks_.summing.push_back(clear);
  end.after(clear);
  for (std::size_t number = 0; number < parts_.interactions.size(); ++number) {
    const std::vector<Task> tasks = parts_.interactions[number].sum->add_summing_tasks(frames[number], clear, end);
    tasks_.summing.insert(tasks_.summing.end(), tasks.begin(), tasks.end());
  }
}

Task TreeDriver::add_hooks(std::span<const Hook> hooks, Task after, std::vector<Task>& tasks) {
  for (const Hook& hook : hooks) {
    after = add_for_pieces(
        hook.kind,
        [this, function = hook.function](const TaskContext&, std::size_t first, std::size_t last) {
          function(place_.store, first, last);
        },
        after);
    tasks.push_back(after);
  }
  return after;
}

/// Adds a task that spawns tasks for pieces of the particles that this rank has at that time.
Task TreeDriver::add_for_pieces(const std::string& kind_name, PieceFunction function, Task after) {
  const TaskKind kind = graph_.kind(kind_name);
  Task task = graph_.task(kind_name, [this, kind, function = std::move(function)](TaskContext& context) {
    const std::size_t size = place_.store.size();
    const std::size_t count = pieces();
    for (std::size_t piece = 0; piece < count; ++piece) {
      const auto work =
          [this, &function, first = size * piece / count, last = size * (piece + 1) / count](TaskContext& inner) {
            const PhaseTimer timer{phases(inner), Phase::other};
            function(inner, first, last);
          };
      count == 1 ? work(context) : context.spawn({.kind = kind, .body = work, .object = piece});
    }
  });
  return task.after(after);
}

void TreeDriver::run(bool is_step) {
  const bool builds = !has_trees_ || ++updates_ >= options_.steps_between_trees;
  if (!builds) {
    check_unchanged();
  }
  const bool decomposes =
      is_parallel() && is_step && builds && options_.steps_between_decompositions > 0 && steps_ >= next_cut_;
  if (decomposes) {
    next_cut_ = steps_ + options_.steps_between_decompositions;
  }
  std::vector<Task> active;
  const auto add_all = [&active](std::span<const Task> tasks) {
    active.insert(active.end(), tasks.begin(), tasks.end());
  };
  if (is_step) {
    add_all(tasks_.first);
  }
  if (decomposes) {
    add_all(tasks_.decomposing);
  }
  if (builds) {
    add_all(tasks_.exchanging);
  }
  add_all(builds ? tasks_.building : tasks_.refreshing);
  add_all(tasks_.summing);
  add_all(is_step ? tasks_.last : tasks_.finishing);
  add_all(tasks_.choosing);
  if (builds) {
    updates_ = 0;
    has_trees_ = true;
  }
  place_.scheduler.run(graph_, active);
  size_noted_ = place_.store.size();
  if (decomposes) {
    place_.domain = next_domain_;
  }
  if (parts_.steps != nullptr) {
    is_step ? parts_.steps->advance() : parts_.steps->choose();
  }
  steps_ += is_step ? 1 : 0;
}

/// Reused trees have the particles of the last step.
void TreeDriver::check_unchanged() const {
  if (place_.store.size() == size_noted_) {
    return;
  }
  const Error error{ErrorCode::bad_argument,
                    fmt::format("the store has {} particles and had {} when trees were built: call "
                                "System::particles_changed on all ranks after adding or removing particles",
                                place_.store.size(),
                                size_noted_)};
  place_.messages.stop_all(error);  // the others wait for this one
  throw error;
}

}  // namespace plait::particles::detail
