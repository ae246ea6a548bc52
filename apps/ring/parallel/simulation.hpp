// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "plait/plait.hpp"

#include "ring/body.hpp"
#include "ring/diagnostics.hpp"
#include "ring/domain.hpp"
#include "ring/forces.hpp"
#include "ring/parallel/phase.hpp"
#include "ring/parameters.hpp"

namespace ring {

/// How the ring is computed in parallel; changes nothing in what is computed, but for rounding.
struct ParallelOptions {
  DomainGrid grid;
  std::uint32_t steps_between_decompositions = 4;
  std::uint32_t samples = 2000;  ///< Of all ranks together, for a decomposition.
  std::size_t task_batches = 1;  ///< Batches of groups that one force task takes.
};

/// What steps have cost on one rank, summed since the start or `take_profile`.
struct Profile {
  std::uint64_t steps = 0;
  std::chrono::nanoseconds wall{};
  std::chrono::nanoseconds idle{};  ///< Of all workers.
  PhaseTimes phases{};              ///< Of all workers.
  std::uint64_t interactions = 0;   ///< Body-body and body-cell.
};

/// A ring on the ranks of a runtime: its bodies, and one graph of tasks that is a step.
///
/// Each step drifts the bodies, hands those that have left this rank's domain to a neighbour, builds a tree, sends to
/// each other rank what it needs of that tree, and computes forces: from its own tree at once, from each other rank's
/// as it arrives. Every fourth step, domains are cut anew by measured cost. No phase waits for all ranks. All ranks
/// call the same functions in the same order. Throw `plait::Error` as `plait::Runtime::run`.
class Simulation {
 public:
  /// Where a run begins: any bodies on any rank.
  struct Start {
    std::vector<Body> bodies;
    std::uint64_t step = 0;
    double time = 0;
    Dissipation dissipation;            ///< Of all ranks together.
    double spring = 0;                  ///< Energy; of all ranks together. Counts when `has_forces`.
    std::vector<double> domain_bounds;  ///< As `Domains::bounds` of the same grid; empty: cut by the bodies.
    bool has_forces =
        false;  ///< The bodies bear accelerations and potentials of this time: none need be computed first.
  };
  /// Cuts domains and brings each body to the rank of its domain.
  /// Throws, on every rank alike: `app::AgreedError` when there are fewer bodies than ranks, or fewer than 2, or two at
  /// one place.
  Simulation(plait::Runtime& runtime, const Parameters& parameters, const ParallelOptions& options, Start start);
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;
  Simulation(Simulation&&) = delete;
  Simulation& operator=(Simulation&&) = delete;
  ~Simulation();

  void step();

  [[nodiscard]] const std::vector<Body>& bodies() const noexcept;
  [[nodiscard]] std::uint64_t steps_done() const noexcept;
  [[nodiscard]] double time() const noexcept;
  /// Energy and angular momentum now, of all ranks; the same on each. Collective.
  [[nodiscard]] Diagnostics diagnose();
  /// The same on every rank.
  [[nodiscard]] const Domains& domains() const noexcept;
  /// Energy that contacts take in a unit of time, at the last force, of all ranks; the same on each. Collective.
  [[nodiscard]] double dissipation_rate();
  /// This rank's costs since the last call.
  [[nodiscard]] Profile take_profile();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ring
