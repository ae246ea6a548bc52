// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/trees/tuning.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <limits>
#include <vector>

namespace plait::particles {

namespace {

using Seconds = std::chrono::duration<double>;

constexpr std::array<TreeSizes, 6> candidates{{
    {8, 32, 1024},
    {8, 64, 1024},
    {16, 64, 4096},
    {16, 128, 4096},
    {32, 256, 4096},
    {64, 512, 8192},
}};
constexpr std::size_t sample_batches = 8;
constexpr std::size_t sample_bodies_min = 8192;  // of small batches more are walked
constexpr int rounds = 2;                        // of which the faster counts: others may disturb

/// What this thread has computed: what others take of the processor meanwhile must not decide.
Seconds computed() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec};
}

/// Batches evenly spread over the tree, and how many bodies they have.
struct Sample {
  std::vector<Batch> batches;
  std::size_t bodies = 0;
};

Sample sample_of(const Tree& tree) {
  const auto all = tree.batches();
  const std::size_t bodies_all = tree.sources().size();
  const std::size_t by_bodies = (sample_bodies_min * all.size() + bodies_all - 1) / bodies_all;
  const std::size_t count = std::min(all.size(), std::max(sample_batches, by_bodies));
  Sample sample;
  for (std::size_t i = 0; i < count; ++i) {
    const Batch& batch = all[(2 * i + 1) * all.size() / (2 * count)];
    sample.batches.push_back(batch);
    for (const BodyGroup& group : tree.groups().subspan(batch.first_group, batch.group_count)) {
      sample.bodies += group.body_count;
    }
  }
  return sample;
}

/// Of a step on one core: the tree, and walks over it as long as those of the sample are.
Seconds time_with(const TrialTargets& to, const TreeOptions& options, const WalkOptions& walk_options, Tree& tree) {
  const Seconds start = computed();
  tree.build(to.store, options);
  const Seconds built = computed() - start;
  const TreeView view = tree.view();
  const Sample sample = sample_of(tree);
  WalkSpace space;
  Seconds walked{std::numeric_limits<double>::infinity()};
  for (int round = 0; round < rounds; ++round) {
    const Seconds begin = computed();
    for (const Batch& batch : sample.batches) {
      walk({view}, {to.store, tree, to.kinds, to.acceleration, to.potential}, {&batch, 1}, walk_options, space);
    }
    walked = std::min(walked, computed() - begin);
  }
  return built + walked * (static_cast<double>(to.store.size()) / static_cast<double>(sample.bodies));
}

}  // namespace

TreeSizes sizes_of(const TreeOptions& options) {
  return {options.leaf_bodies_max, options.group_bodies_max, options.batch_bodies_max};
}

void set_sizes(TreeOptions& options, const TreeSizes& sizes) {
  options.leaf_bodies_max = sizes.leaf_bodies_max;
  options.group_bodies_max = sizes.group_bodies_max;
  options.batch_bodies_max = sizes.batch_bodies_max;
}

TreeSizes fastest_sizes(const TrialTargets& targets, const TreeOptions& tree_options, const WalkOptions& walk_options) {
  const TreeSizes given = sizes_of(tree_options);
  if (targets.store.size() == 0) {
    return given;
  }
  WalkOptions quiet = walk_options;
  quiet.near = {};  // the program's: must not be called twice for a pair
  TreeOptions options = tree_options;
  Tree tree;
  tree.build(targets.store, options);  // warms up, and sorts: later builds find all in order
  TreeSizes best = given;
  Seconds shortest = time_with(targets, options, quiet, tree);
  for (const TreeSizes& sizes : candidates) {
    set_sizes(options, sizes);
    const Seconds time = sizes == given ? shortest : time_with(targets, options, quiet, tree);
    if (time < shortest) {
      shortest = time;
      best = sizes;
    }
  }
  return best;
}

}  // namespace plait::particles
