// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "pic/problem.hpp"
#include "pic/solver.hpp"

namespace pic {

/// What is conserved, or tells two runs apart: of the whole box, the same on every rank and for every way of running.
struct Totals {
  std::uint64_t particles = 0;
  std::uint64_t absorbed = 0;   ///< By walls, since the beginning.
  std::uint64_t checksum = 0;   ///< Of all particles and fields, bit for bit.
  std::uint64_t misplaced = 0;  ///< Of the analytic problem: particles that are not where they belong.
  double kinetic = 0;           ///< Energies, in m c^2 n c^3 / plasma frequency^3 (per length in two dimensions).
  double electric = 0;
  double magnetic = 0;
  double momentum_x = 0;

  [[nodiscard]] double energy() const { return kinetic + electric + magnetic; }
};

/// Where the time of this rank went, since the beginning.
struct Profile {
  using Seconds = std::chrono::duration<double>;
  Seconds particles{};  ///< Moving and depositing: the work that may be unbalanced.
  Seconds migration{};  ///< Handing leavers over, with waiting for those who have more to do.
  Seconds hand_over{};  ///< Fields to patches, charges and currents to the solver.
  Seconds solve{};
};

/// One balancing: loads are those that the balancer saw, imbalance is the largest over the mean, less 1.
struct BalanceNote {
  std::uint64_t step = 0;
  double imbalance_before = 0;
  double imbalance_predicted = 0;
  double imbalance_bound = 0;               ///< That no placement can be below: the heaviest patch over the mean.
  std::uint64_t moved = 0;                  ///< Patches, of all ranks.
  std::chrono::duration<double> decided{};  ///< Measuring and deciding, on this rank.
  std::chrono::duration<double> migrated{};
};

/// A way of running a problem on several ranks. All give the same `Totals::checksum`. All calls are collective but
/// those that only look.
class Way {
 public:
  Way() = default;
  Way(const Way&) = delete;
  Way& operator=(const Way&) = delete;
  virtual ~Way() = default;

  /// One time step.
  virtual void step() = 0;
  [[nodiscard]] virtual std::uint64_t steps_done() const = 0;
  [[nodiscard]] virtual Totals totals() = 0;
  /// How far the electric field is from Gauss's law; see `Solver::gauss_error`. Spoils the charges of the last step.
  [[nodiscard]] virtual double gauss_error() = 0;
  [[nodiscard]] virtual const Profile& profile() const = 0;
  /// Particles of this rank now.
  [[nodiscard]] virtual std::uint64_t local_particles() const = 0;
  /// Each time that patches were balanced; empty where they are not.
  [[nodiscard]] virtual std::span<const BalanceNote> balancings() const { return {}; }
};

/// A way in which the box has D dimensions: what output and tests look at. Not collective.
template <int D>
class GridWay : public Way {
 public:
  [[nodiscard]] virtual const Problem<D>& problem() const = 0;
  [[nodiscard]] virtual Solver<D>& solver() = 0;
  /// Those on this rank; valid until the next step.
  [[nodiscard]] virtual std::vector<const Patch<D>*> local_patches() const = 0;
  /// Puts this run, whose problem starts empty, where another one of the same problem was after `steps` steps, but for
  /// the fields, which are set in `solver()`. The particles of all ranks together are all there are; each may be
  /// anywhere in the grid. Collective.
  virtual void go_on(std::uint64_t steps, std::vector<Migrant<D>> particles, std::uint64_t absorbed) = 0;
};

}  // namespace pic
