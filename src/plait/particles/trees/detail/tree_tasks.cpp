// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/trees/detail/tree_tasks.hpp"

#include <utility>

namespace plait::particles::detail {

namespace {

using task::Task;
using task::TaskContext;
using task::TaskKind;

constexpr std::uint32_t pieces_a_worker = 2;

/// Adds one task after the other.
class Chain {
 public:
  Chain(task::Graph& graph, Task after, Tree& tree, PhasesOf phases)
      : graph_{graph}, after_{after}, tree_{tree}, phases_{std::move(phases)} {}

  /// A task that calls `whole`, then spawns `piece` for 0 to `count()` - 1.
  void add(const char* name,
           std::function<void()> whole,
           std::function<std::uint32_t()> count = {},
           void (Tree::*piece)(std::uint32_t) = nullptr) {
    const TaskKind kind = graph_.kind(name);
    Task task = graph_.task(name, [&tree = tree_, phases = phases_, kind, whole, count, piece](TaskContext& context) {
      if (whole) {
        const PhaseTimer timer{phases(context), Phase::make_tree};
        whole();
      }
      const std::uint32_t pieces = count ? count() : 0;
      for (std::uint32_t index = 0; index < pieces; ++index) {
        const auto run = [&tree, &phases, piece, index](TaskContext& inner) {
          const PhaseTimer timer{phases(inner), Phase::make_tree};
          (tree.*piece)(index);
        };
        pieces == 1 ? run(context) : context.spawn({.kind = kind, .body = run, .object = index});
      }
    });
    task.after(after_);
    after_ = task;
    tasks.push_back(task);
  }

  std::vector<Task> tasks;

 private:
  task::Graph& graph_;
  Task after_;
  Tree& tree_;
  PhasesOf phases_;
};

}  // namespace

std::vector<Task> add_tree_tasks(task::Graph& graph,
                                 Task after,
                                 Tree& tree,
                                 std::function<void(std::uint32_t pieces)> begin,
                                 const TreeTaskOptions& options) {
  const std::uint32_t pieces = options.worker_count == 1 ? 1 : pieces_a_worker * options.worker_count;
  const auto piece_count = [&tree] { return tree.pieces(); };
  Chain chain{graph, after, tree, options.phases};
  chain.add("tree: sort", [begin = std::move(begin), pieces] { begin(pieces); }, piece_count, &Tree::sort_chunk);
  if (pieces > 1) {
    chain.add("tree: merge", [&tree] { tree.split_sort(); }, piece_count, &Tree::merge_piece);
  }
  chain.add("tree: order", {}, piece_count, &Tree::order_piece);
  chain.add(
      "tree: build", [&tree] { tree.plan_subtrees(); }, [&tree] { return tree.subtrees(); }, &Tree::build_subtree);
  chain.add("tree: finish", [&tree] { tree.finish(); });
  return chain.tasks;
}

}  // namespace plait::particles::detail
