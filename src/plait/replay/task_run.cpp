// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/task_run.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "plait/replay/detail/rank_tasks.hpp"
#include "plait/replay/detail/remote_orders.hpp"
#include "plait/replay/detail/run_builder.hpp"
#include "plait/replay/detail/run_messages.hpp"
#include "plait/replay/detail/run_program.hpp"
#include "plait/replay/detail/stolen_times.hpp"

namespace plait::replay {
namespace {

bool is_in(StepRange steps, const trace::TaskEvent& task) {
  return steps.first <= task.step && task.step <= steps.last;
}

/// From the first task of these steps to the end of the last, by rank 0's clock. The program before counts from there.
std::optional<std::pair<nanoseconds, nanoseconds>> time_of(const trace::RunTrace& run, StepRange steps) {
  std::optional<std::pair<nanoseconds, nanoseconds>> whole;
  const auto take = [&](nanoseconds start, nanoseconds end) {
    whole = whole ? std::pair{std::min(whole->first, start), std::max(whole->second, end)} : std::pair{start, end};
  };
  for (const trace::RankTrace& rank : run.ranks) {
    const trace::ClockLine clock = run.clock_line(rank.rank);
    for (const auto& [thread, task] : rank.tasks) {
      if (is_in(steps, task)) {
        take(clock.to_rank_zero(std::min(task.ready, task.start)), clock.to_rank_zero(task.end));
      }
    }
  }
  return whole;
}

std::vector<detail::BackgroundTime> background_of(const trace::RunTrace& run, nanoseconds origin) {
  std::vector<detail::BackgroundTime> times;
  for (const trace::RankTrace& rank : run.ranks) {
    const trace::ClockLine clock = run.clock_line(rank.rank);
    for (const trace::BackgroundTimeEvent& event : rank.background_times) {
      times.push_back({.rank = rank.rank.value(),
                       .start = clock.to_rank_zero(event.start) - origin,
                       .end = clock.to_rank_zero(event.end) - origin,
                       .took = event.took});
    }
  }
  return times;
}

void count_receives_without(TaskRun& run) {
  std::uint64_t count = 0;
  for (std::uint32_t node = 0; node < run.nodes.size(); ++node) {
    count += run.nodes[node].role == NodeRole::receive && run.received[node] == RunNode::none ? 1 : 0;
  }
  if (count > 0) {
    run.notices.push_back(
        fmt::format("{} receives have no send in the trace: their messages arrive at once in predictions", count));
  }
}

}  // namespace

Result<TaskRun> tasks_of_run(const trace::RunTrace& run, StepRange steps) {
  const auto time = time_of(run, steps);
  if (!time) {
    return Error{ErrorCode::bad_input,
                 "the trace has no tasks in these steps, so there is no graph to schedule; record a program of plait "
                 "with `plait run`"};
  }
  try {
    detail::RunBuilder builder;
    std::vector<detail::RankTasks> ranks;
    ranks.reserve(run.ranks.size());
    for (const trace::RankTrace& rank : run.ranks) {
      ranks.emplace_back(builder, rank, run.clock_line(rank.rank), time->first).add(steps);
    }
    auto loose = detail::add_messages(builder, run, ranks);
    detail::order_remote(builder, ranks);
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      detail::order_program(builder, ranks[rank], loose[rank]);
    }
    const std::vector<detail::Cause> causes = builder.last_causes();
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      detail::explain_the_rest(builder, ranks[rank], loose[rank], causes);
    }
    TaskRun result = builder.finish();
    result.ranks = static_cast<std::uint32_t>(run.ranks.size());
    result.workers = std::max(1U, run.meta.workers);
    result.hosts = run.meta.hosts;
    result.origin = time->first;
    result.length = time->second - time->first;
    count_receives_without(result);
    for (const trace::RankTrace& rank : run.ranks) {
      result.notices.insert(result.notices.end(), rank.notices.begin(), rank.notices.end());
    }
    detail::find_stolen_times(result, background_of(run, time->first));
    return result;
  } catch (const Error& error) {
    return error;
  }
}

Result<TaskRun> tasks_of_folder(const std::filesystem::path& folder, StepRange steps) {
  auto run = trace::read_run(folder);
  if (!run) {
    return run.error();
  }
  return tasks_of_run(run.value(), steps);
}

}  // namespace plait::replay
