// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/trees/tuning.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/particles/trees/tree_build.hpp"

namespace plait::particles {

namespace {

using Seconds = std::chrono::duration<double>;

/// Bodies of a leaf, of a group, of a batch.
constexpr std::array<std::array<std::uint32_t, 3>, 7> candidates{{
    {8, 48, 1536},
    {8, 96, 3072},
    {16, 96, 3072},
    {16, 128, 4096},
    {16, 192, 6144},
    {32, 96, 3072},
    {32, 256, 8192},
}};
constexpr std::size_t sample_batches = 8;
constexpr std::size_t sample_bodies_min = 8192;  // more batches are walked if they are small
constexpr int rounds = 2;                        // the fastest counts

/// Evenly spaced batches of a tree, and the number of their bodies.
struct Sample {
  std::vector<std::size_t> batches;  ///< Places in the tree, by which walks find the lists of a batch.
  std::size_t bodies = 0;
};

Sample sample_of(const Tree& tree) {
  const auto all = tree.batches();
  const std::size_t bodies_all = tree.sources().size();
  const std::size_t by_bodies = (sample_bodies_min * all.size() + bodies_all - 1) / bodies_all;
  const std::size_t count = std::min(all.size(), std::max(sample_batches, by_bodies));
  Sample sample;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t place = (2 * i + 1) * all.size() / (2 * count);
    const Batch& batch = all[place];
    sample.batches.push_back(place);
    for (const BodyGroup& group : tree.groups().subspan(batch.first_group, batch.group_count)) {
      sample.bodies += group.body_count;
    }
  }
  return sample;
}

/// Trees and walks whose time is measured.
struct Trial {
  const TrialTargets& to;
  const WalkOptions& walk;
  std::uint32_t uses_of_lists;
};

Seconds time_of_walks(const Trial& trial, const Tree& tree, const Sample& sample, WalkLists* lists, WalkSpace& space) {
  const TreeView view = tree.view();
  const nanoseconds begin = thread_processor_time();
  for (const std::size_t place : sample.batches) {
    walk({view, Origin::own_tree, lists},
         {trial.to.store, tree, trial.to.kinds, trial.to.acceleration, trial.to.potential},
         tree.batches().subspan(place, 1),
         trial.walk,
         space);
  }
  return thread_processor_time() - begin;
}

/// The mean time of a step on one core: a build or a refresh, and the walks of the sample scaled to all bodies.
Seconds time_with(const Trial& trial, const TreeOptions& options, TreeBuild& build, Tree& tree) {
  const nanoseconds start = thread_processor_time();
  build.build(trial.to.store, options);
  const Seconds built = thread_processor_time() - start;
  const Sample sample = sample_of(tree);
  const bool reuses = trial.uses_of_lists > 1;
  WalkSpace space;
  WalkLists lists;
  Seconds walked{std::numeric_limits<double>::infinity()};
  Seconds reused = walked;
  Seconds refreshed{0};
  for (int round = 0; round < rounds; ++round) {
    lists.begin(reuses ? tree.batches().size() : 0);
    walked = std::min(walked, time_of_walks(trial, tree, sample, reuses ? &lists : nullptr, space));
    if (reuses) {
      const nanoseconds begin = thread_processor_time();
      tree.refresh();
      refreshed = thread_processor_time() - begin;
      reused = std::min(reused, time_of_walks(trial, tree, sample, &lists, space));
    }
  }
  const double scale = static_cast<double>(trial.to.store.size()) / static_cast<double>(sample.bodies);
  const Seconds first = built + walked * scale;
  const Seconds later = reuses ? refreshed + reused * scale : Seconds{0};
  return (first + (trial.uses_of_lists - 1) * later) / trial.uses_of_lists;
}

}  // namespace

TreeOptions with_fastest_sizes(const TrialTargets& targets,
                               const TreeOptions& given,
                               const WalkOptions& walk_options,
                               std::uint32_t uses_of_lists) {
  if (targets.store.size() == 0) {
    return given;
  }
  WalkOptions quiet = walk_options;
  quiet.near = {};  // the program's function must not see a pair twice
  const Trial trial{targets, quiet, uses_of_lists};
  Tree tree;
  TreeBuild build{tree};
  build.build(targets.store, given);  // warms up and sorts, so that later builds are alike
  TreeOptions best = given;
  Seconds shortest = time_with(trial, given, build, tree);
  for (const auto& [leaf, group, batch] : candidates) {
    TreeOptions options = given;
    options.leaf_bodies_max = leaf;
    options.group_bodies_max = group;
    options.batch_bodies_max = batch;
    if (const Seconds time = time_with(trial, options, build, tree); time < shortest) {
      shortest = time;
      best = options;
    }
  }
  return best;
}

}  // namespace plait::particles
