// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/trees/force_error.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "plait/base/error.hpp"
#include "plait/particles/trees/tree_build.hpp"

namespace plait::particles {

namespace {

constexpr double theta_first = 0.7;
constexpr double theta_min = 0.05;
constexpr double theta_max = 1.5;
constexpr std::size_t sample_bodies = 512;
constexpr int trials_max = 6;
constexpr double near_enough = 0.85;  // of the wanted error
constexpr double aimed_at = 0.93;

/// The forces on some groups of a tree. Groups depend on positions only, so that they are equal at all angles.
class ForceTrial {
 public:
  ForceTrial(const TrialTargets& targets, const TreeOptions& tree, const WalkOptions& walk)
      : to_{targets}, options_{tree}, walk_{walk} {
    walk_.near = {};  // the program's function must not see a pair twice
    WalkOptions exact = walk_;
    exact.precision = Precision::full;
    exact_ = forces_at(0, exact);
  }

  /// The root mean square of the error over that of the force; 0 without any force.
  [[nodiscard]] double error_at(double theta) {
    const std::vector<Vector> found = forces_at(theta, walk_);
    double error = 0;
    double norm = 0;
    for (std::size_t i = 0; i < exact_.size(); ++i) {
      const Vector difference = found[i] - exact_[i];
      error += dot(difference, difference);
      norm += dot(exact_[i], exact_[i]);
    }
    return norm > 0 ? std::sqrt(error / norm) : 0;
  }

 private:
  std::vector<Vector> forces_at(double theta, const WalkOptions& walk_options) {
    options_.theta = theta;
    build_.build(to_.store, options_);
    const TreeView view = tree_.view();
    const auto groups = tree_.groups();
    const std::size_t bodies = std::max<std::size_t>(1, to_.store.size() / groups.size());
    const std::size_t count = std::clamp<std::size_t>(sample_bodies / bodies, 1, groups.size());
    std::vector<Vector> forces;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t number = (2 * i + 1) * groups.size() / (2 * count);
      const BodyGroup& group = groups[number];
      clear(group);
      const Batch batch = batch_of(number);
      walk({view}, {to_.store, tree_, to_.kinds, to_.acceleration, to_.potential}, {&batch, 1}, walk_options, space_);
      const auto sums = to_.store[to_.acceleration].subspan(group.first_body, group.body_count);
      forces.insert(forces.end(), sums.begin(), sums.end());
    }
    return forces;
  }

  [[nodiscard]] Batch batch_of(std::size_t group) const {
    return {tree_.groups()[group].box, static_cast<std::uint32_t>(group), 1};
  }

  void clear(const BodyGroup& group) {
    std::ranges::fill(to_.store[to_.acceleration].subspan(group.first_body, group.body_count), Vector{});
    std::ranges::fill(to_.store[to_.potential].subspan(group.first_body, group.body_count), 0.0);
  }

  TrialTargets to_;
  TreeOptions options_;
  WalkOptions walk_;
  Tree tree_;
  TreeBuild build_{tree_};
  WalkSpace space_;
  std::vector<Vector> exact_;
};

}  // namespace

double theta_of_error(const TrialTargets& targets, const TreeOptions& tree, const WalkOptions& walk, double wanted) {
  expect(wanted > 0, "an error of 0 needs direct sums: theta 0");
  if (targets.store.size() == 0) {
    return tree.theta;
  }
  ForceTrial trial{targets, tree, walk};
  // Errors grow about like this power of theta: of the first neglected moment, whose directions are not random.
  const double power = tree.order == Order::monopole ? 2.5 : 3.5;
  double theta = theta_first;
  double best = theta_min;
  double too_large = theta_max;
  for (int number = 0; number < trials_max; ++number) {
    const double error = trial.error_at(theta);
    const bool is_good = error <= wanted;
    (is_good ? best : too_large) = theta;
    if (is_good && error >= near_enough * wanted) {
      break;
    }
    const double aim = error > 0 ? theta * std::pow(aimed_at * wanted / error, 1 / power) : theta_max;
    theta = aim > best && aim < too_large ? aim : std::sqrt(best * too_large);
  }
  return best;
}

}  // namespace plait::particles
