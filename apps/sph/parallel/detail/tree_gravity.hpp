// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "plait/particles.hpp"
#include "plait/plait.hpp"

#include "sph/gas.hpp"
#include "sph/scheme.hpp"

namespace sph {

/// Gravity of all particles of all ranks. Each update builds trees over copies of the particles, as trees have an order
/// of their own. Threads: one at a time.
class TreeGravity {
 public:
  enum class Results : std::uint8_t { all, potential };

  /// Borrows all but the settings.
  TreeGravity(plait::comm::Endpoint& messages,
              plait::task::Scheduler& scheduler,
              const plait::particles::Space& space,
              const GravitySettings& settings);
  TreeGravity(const TreeGravity&) = delete;
  TreeGravity& operator=(const TreeGravity&) = delete;
  ~TreeGravity() = default;

  /// Computes `gravity` and `potential`, or `potential` alone, of the particles of `store` for which `is_active`. All
  /// ranks call it. Throws: as `Scheduler::run`. Cost: a tree of all particles, and walks for the active ones.
  void update(Particles& store,
              const GasFields& fields,
              const std::function<bool(std::size_t)>& is_active,
              Results results = Results::all);

 private:
  plait::comm::Endpoint& messages_;
  plait::comm::ClaimedComms comms_;
  plait::task::Scheduler& scheduler_;
  const plait::particles::Space& space_;
  Particles copies_;
  Field<double> mass_;
  Field<Vector> acceleration_;
  Field<double> potential_;
  Field<Particles::Index> place_;  ///< In the store of the originals.
  std::unique_ptr<plait::particles::LongRange> forces_;
  plait::Graph graph_;
  std::optional<plait::Task> last_waiting_;
};

}  // namespace sph
