// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <utility>
#include <vector>

#include "ring/diagnostics.hpp"
#include "ring/forces.hpp"
#include "ring/leapfrog.hpp"
#include "ring/tree.hpp"

namespace ring::test {

/// The whole step on one rank and one thread.
class OneRank {
 public:
  OneRank(std::vector<Body> bodies, const Parameters& parameters)
      : bodies_{std::move(bodies)}, parameters_{parameters}, options_{parameters} {
    TreeOptions first{parameters};
    first.prediction_time = 0;  // velocities are of now
    force(first);
    dissipation_.rate = sums_.dissipation_rate;
  }

  /// Goes on from a snapshot: its forces are those of the end of its last step.
  OneRank(std::vector<Body> bodies, const Parameters& parameters, const Dissipation& dissipation)
      : bodies_{std::move(bodies)}, parameters_{parameters}, options_{parameters}, dissipation_{dissipation} {}

  void step() {
    kick_and_drift(bodies_, parameters_.time_step);
    force(TreeOptions{parameters_});
    kick(bodies_, parameters_.time_step / 2);
    dissipation_.advance(sums_.dissipation_rate, parameters_.time_step);
  }

  [[nodiscard]] Diagnostics diagnostics() const {
    Diagnostics result = diagnose(bodies_, parameters_.central_mass);
    result.spring = sums_.spring_energy;
    result.dissipated = dissipation_.energy;
    return result;
  }
  [[nodiscard]] const std::vector<Body>& bodies() const { return bodies_; }
  [[nodiscard]] const Body& body(std::uint64_t id) const {
    for (const Body& body : bodies_) {
      if (body.id == id) {
        return body;
      }
    }
    std::abort();
  }
  [[nodiscard]] const ForceSums& sums() const { return sums_; }
  [[nodiscard]] const Dissipation& dissipation() const { return dissipation_; }

 private:
  void force(const TreeOptions& options) {
    tree_.build(bodies_, options);
    begin_forces(bodies_, parameters_.central_mass);
    sums_ = {};
    add_forces(tree_.view(), Origin::own_tree, {bodies_, tree_}, tree_.batches(), options_, workspace_, sums_);
  }

  std::vector<Body> bodies_;
  Parameters parameters_;
  ForceOptions options_;
  Tree tree_;
  ForceWorkspace workspace_;
  ForceSums sums_;
  Dissipation dissipation_;
};

}  // namespace ring::test
