// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/trees/detail/tree_tasks.hpp"

#include <utility>

namespace plait::particles::detail {

using task::Task;
using task::TaskContext;

std::vector<Task> add_tree_tasks(
    const StepFrame& frame, Task after, Tree& tree, std::function<void(std::uint32_t pieces)> begin, PhasesOf phases) {
  constexpr std::uint32_t pieces_a_worker = 2;
  const std::uint32_t pieces = frame.worker_count == 1 ? 1 : pieces_a_worker * frame.worker_count;
  std::vector<Task> tasks;
  // A task that calls `whole`, then spawns `piece` for [0, count()).
  const auto add = [&](const char* name,
                       std::function<void()> whole,
                       std::function<std::uint32_t()> count = {},
                       void(Tree::* piece)(std::uint32_t) = nullptr) {
    const task::TaskKind kind = frame.graph.kind(name);
    Task task = frame.graph.task(name, [&tree, phases, kind, whole, count, piece](TaskContext& context) {
      if (whole) {
        const PhaseTimer timer{phases(context), Phase::make_tree};
        whole();
      }
      const std::uint32_t piece_count = count ? count() : 0;
      for (std::uint32_t index = 0; index < piece_count; ++index) {
        const auto run = [&tree, &phases, piece, index](TaskContext& inner) {
          const PhaseTimer timer{phases(inner), Phase::make_tree};
          (tree.*piece)(index);
        };
        piece_count == 1 ? run(context) : context.spawn({.kind = kind, .body = run, .object = index});
      }
    });
    tasks.push_back(task.after(tasks.empty() ? after : tasks.back()));
  };
  const auto piece_count = [&tree] { return tree.pieces(); };
  add("tree: sort", [begin = std::move(begin), pieces] { begin(pieces); }, piece_count, &Tree::sort_chunk);
  if (pieces > 1) {
    add("tree: merge", [&tree] { tree.split_sort(); }, piece_count, &Tree::merge_piece);
  }
  add("tree: order", {}, piece_count, &Tree::order_piece);
  add("tree: build", [&tree] { tree.plan_subtrees(); }, [&tree] { return tree.subtrees(); }, &Tree::build_subtree);
  add("tree: finish", [&tree] { tree.finish(); });
  return tasks;
}

}  // namespace plait::particles::detail
