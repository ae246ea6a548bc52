// SPDX-License-Identifier: Apache-2.0
#include "plait/fft/detail/together.hpp"

#include <algorithm>
#include <functional>
#include <ranges>
#include <utility>

#include "plait/task/graph.hpp"
#include "plait/task/scheduler.hpp"

namespace plait::fft::detail {

namespace {

using Transforms = std::vector<std::shared_ptr<Transform>>;

/// Graphs that a transform keeps for lists that it is the first of.
constexpr std::size_t kept_max = 8;

bool is_for(const Transform::Kept& kept, const Transforms& transforms) {
  return std::ranges::equal(kept.members, transforms, [](const std::weak_ptr<Transform>& one, const auto& other) {
    return one.lock() == other;
  });
}

task::Graph& graph_of(const Transforms& transforms) {
  std::vector<Transform::Kept>& all = transforms.front()->kept();
  const auto found = std::ranges::find_if(all, [&](const Transform::Kept& kept) { return is_for(kept, transforms); });
  if (found != all.end()) {
    return *found->graph;
  }
  if (all.size() == kept_max) {
    all.erase(all.begin());
  }
  Transform::Kept kept{{transforms.begin(), transforms.end()}, std::make_unique<task::Graph>()};
  for (const std::shared_ptr<Transform>& transform : transforms) {
    (void)transform->add_to(*kept.graph);
  }
  all.push_back(std::move(kept));
  return *all.back().graph;
}

/// Step by step: what one exchanges while the next computes.
void run_in_order(const Transforms& transforms) {
  const std::function<void()> pulse = [&] {
    for (const std::shared_ptr<Transform>& transform : transforms) {
      transform->advance();
    }
  };
  const auto count_of = [](const std::shared_ptr<Transform>& transform) { return transform->step_count(); };
  const std::size_t steps = std::ranges::max(transforms | std::views::transform(count_of));
  for (std::size_t step = 0; step < steps; ++step) {
    for (const std::shared_ptr<Transform>& transform : transforms) {
      if (step < transform->step_count()) {
        transform->carry_out(step, pulse);
      }
    }
  }
}

}  // namespace

void run_together(const Transforms& transforms) {
  const PlanState& plan = transforms.front()->plan();
  if (plan.runs_as_tasks()) {
    plan.scheduler.run(graph_of(transforms));
  } else {
    run_in_order(transforms);
  }
}

}  // namespace plait::fft::detail
