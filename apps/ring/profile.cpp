// SPDX-License-Identifier: Apache-2.0
// Times the phases of a step of the ring on one thread: ring_profile [bodies [steps [leaf [group [theta]]]]]
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plait/base/error.hpp"

#include "ring/forces.hpp"
#include "ring/initial_condition.hpp"
#include "ring/leapfrog.hpp"
#include "ring/tree.hpp"

namespace {

using Clock = std::chrono::steady_clock;

class Stopwatch {
 public:
  double lap_ms() {
    const auto now = Clock::now();
    return std::chrono::duration<double, std::milli>(now - std::exchange(last_, now)).count();
  }

 private:
  Clock::time_point last_ = Clock::now();
};

double ms(std::chrono::nanoseconds t) {
  return static_cast<double>(t.count()) * 1e-6;
}

void run(const std::vector<std::string>& arguments) {
  const auto number = [&](std::size_t i, double otherwise) {
    return arguments.size() > i ? std::stod(arguments[i]) : otherwise;
  };
  ring::RingShape shape;
  shape.azimuthal = static_cast<std::uint32_t>(number(0, 100000) / shape.radial);
  const int steps = static_cast<int>(number(1, 10));
  ring::Parameters parameters;
  parameters.leaf_bodies_max = static_cast<std::uint32_t>(number(2, parameters.leaf_bodies_max));
  parameters.group_bodies_max = static_cast<std::uint32_t>(number(3, parameters.group_bodies_max));
  parameters.theta = number(4, parameters.theta);
  parameters.collision_radius = number(5, 0);
  std::array<double, 7> best;
  best.fill(1e9);
  std::vector<ring::Body> bodies = ring::make_ring(shape);
  ring::Tree tree;
  ring::ForceWorkspace workspace;
  ring::TreeOptions tree_options{parameters};
  tree_options.batch_bodies_max = static_cast<std::uint32_t>(number(6, tree_options.batch_bodies_max));
  const ring::ForceOptions force_options{parameters};
  fmt::print("kernels {}\n      step      keys+sort  order     nodes      walk    kernel      kick  (ms)\n",
             force_options.kernels->name);
  for (int step = 0; step < steps; ++step) {
    Stopwatch whole;
    Stopwatch watch;
    ring::kick_and_drift(bodies, parameters.time_step);
    double kick = watch.lap_ms();
    tree.begin(bodies, tree_options, ring::bounding_box(bodies), 1);
    tree.sort_chunk(0);
    const double sort = watch.lap_ms();
    tree.order_piece(0);
    tree.plan_subtrees();
    const double order = watch.lap_ms();
    tree.build_subtree(0);
    tree.finish();
    const double nodes = watch.lap_ms();
    ring::begin_forces(bodies, parameters.central_mass);
    kick += watch.lap_ms();
    ring::ForceSums sums;
    ring::add_forces(
        tree.view(), ring::Origin::own_tree, {bodies, tree}, tree.batches(), force_options, workspace, sums);
    watch.lap_ms();
    ring::kick(bodies, parameters.time_step / 2);
    kick += watch.lap_ms();
    const std::array times{whole.lap_ms(), sort, order, nodes, ms(sums.walk), ms(sums.kernel), kick};
    for (std::size_t i = 0; i < times.size(); ++i) {
      best[i] = std::min(best[i], times[i]);
    }
    if (step == steps - 1) {
      fmt::print("{:10.2f}  fastest of {} steps, each column by itself\n", fmt::join(best, " "), steps);
      const double n = static_cast<double>(bodies.size());
      fmt::print(
          "{} bodies, {} nodes, {} groups ({:.1f} bodies each), interactions {:.3e} body-body {:.3e} "
          "body-cell, {:.1f} nodes visited a group, {} contacts\n",
          bodies.size(),
          tree.nodes().size(),
          sums.groups,
          n / static_cast<double>(sums.groups),
          static_cast<double>(sums.body_body),
          static_cast<double>(sums.body_cell),
          static_cast<double>(sums.nodes_visited) / static_cast<double>(sums.groups),
          sums.contacts);
    }
  }
}

}  // namespace

int main(int argc, char** argv) try {
  run({argv + 1, argv + argc});
  return EXIT_SUCCESS;
} catch (const std::exception& trouble) {
  fmt::print(stderr, "ring_profile: {}\n", trouble.what());
  return EXIT_FAILURE;
}
