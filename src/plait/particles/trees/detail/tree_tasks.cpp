// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/trees/detail/tree_tasks.hpp"

#include <utility>

namespace plait::particles::detail {

using task::Task;
using task::TaskContext;

std::vector<Task> add_tree_tasks(const StepFrame& frame,
                                 Task after,
                                 TreeBuild& build,
                                 std::function<void(std::uint32_t pieces)> begin,
                                 PhasesOf phases) {
  constexpr std::uint32_t pieces_a_worker = 2;
  const std::uint32_t pieces = frame.worker_count == 1 ? 1 : pieces_a_worker * frame.worker_count;
  std::vector<Task> tasks;
  // A task that calls `whole`, then spawns `piece` for [0, count()).
  const auto add = [&](const char* name,
                       std::function<void()> whole,
                       std::function<std::uint32_t()> count = {},
                       void(TreeBuild::* piece)(std::uint32_t) = nullptr) {
    const task::TaskKind kind = frame.graph.kind(name);
    Task task = frame.graph.task(name, [&build, phases, kind, whole, count, piece](TaskContext& context) {
      if (whole) {
        const PhaseTimer timer{phases(context), Phase::make_tree};
        whole();
      }
      const std::uint32_t piece_count = count ? count() : 0;
      for (std::uint32_t index = 0; index < piece_count; ++index) {
        const auto run = [&build, &phases, piece, index](TaskContext& inner) {
          const PhaseTimer timer{phases(inner), Phase::make_tree};
          (build.*piece)(index);
        };
        piece_count == 1 ? run(context) : context.spawn({.kind = kind, .body = run, .object = index});
      }
    });
    tasks.push_back(task.after(tasks.empty() ? after : tasks.back()));
  };
  const auto piece_count = [&build] { return build.pieces(); };
  add("tree: sort", [begin = std::move(begin), pieces] { begin(pieces); }, piece_count, &TreeBuild::sort_chunk);
  if (pieces > 1) {
    add("tree: merge", [&build] { build.split_sort(); }, piece_count, &TreeBuild::merge_piece);
  }
  add("tree: order", {}, piece_count, &TreeBuild::order_piece);
  add(
      "tree: build",
      [&build] { build.plan_subtrees(); },
      [&build] { return build.subtrees(); },
      &TreeBuild::build_subtree);
  if (pieces > 1) {
    add("tree: join", [&build] { build.plan_join(); }, [&build] { return build.joins(); }, &TreeBuild::join_subtree);
    add("tree: finish", [&build] { build.finish(); });
  } else {
    add("tree: finish", [&build] { build.plan_join(); });
  }
  return tasks;
}

}  // namespace plait::particles::detail
