// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "plait/particles.hpp"
#include "plait/plait.hpp"

#include "sph/gas.hpp"
#include "sph/scheme.hpp"

namespace sph {

/// Gravity of all particles of all ranks, by trees that are made anew each time: over copies, as trees have an order of
/// their own.
///
/// Threads: one at a time.
class TreeGravity {
 public:
  /// All but the settings must stay.
  TreeGravity(plait::comm::Endpoint& messages,
              plait::task::Scheduler& scheduler,
              const plait::particles::Space& space,
              const GravitySettings& settings);
  TreeGravity(const TreeGravity&) = delete;
  TreeGravity& operator=(const TreeGravity&) = delete;
  ~TreeGravity() = default;

  /// Makes `gravity` and `potential` of the particles of `store` for which `is_active`. All ranks call it.
  /// Throws: as `Scheduler::run`. Cost: a tree of all, and walks for those.
  void update(Particles& store, const GasFields& fields, const std::function<bool(std::size_t)>& is_active);
  /// Makes `potential` of all, and leaves their gravity alone, by which they are on their way.
  void find_potentials(Particles& store, const GasFields& fields);

 private:
  void build_graph();
  void run(const Particles& store, const GasFields& fields);

  plait::comm::Endpoint& messages_;
  plait::comm::ClaimedComms comms_;
  plait::task::Scheduler& scheduler_;
  const plait::particles::Space& space_;
  Particles copies_;
  Field<double> mass_;
  Field<Vector> acceleration_;
  Field<double> potential_;
  Field<Particles::Index> place_;  ///< In the store that they are copies of.
  std::unique_ptr<plait::particles::LongRange> forces_;
  plait::Graph graph_;
  std::optional<plait::Task> last_waiting_;
};

}  // namespace sph
