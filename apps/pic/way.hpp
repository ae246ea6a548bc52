// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "pic/home_tiles.hpp"
#include "pic/layout.hpp"
#include "pic/problem.hpp"
#include "pic/solver.hpp"

namespace pic {

/// What is conserved, or differs between two runs: of the whole box, the same on every rank and for every way of
/// running.
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

/// One balancing, by the loads that the balancer was given. Imbalance: max/mean - 1.
struct BalanceNote {
  std::uint64_t step = 0;
  double imbalance_before = 0;
  double imbalance_predicted = 0;
  double imbalance_bound = 0;               ///< The least of any placement: the heaviest patch over the mean, less 1.
  std::uint64_t moved = 0;                  ///< Patches, of all ranks.
  std::chrono::duration<double> decided{};  ///< Measuring and deciding, on this rank.
  std::chrono::duration<double> migrated{};
};

/// A way of running a problem on several ranks. All give the same `Totals::checksum`. All calls are collective but
/// those that only read.
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
  /// How far the electric field is from Gauss's law; see `Solver::gauss_error`. Overwrites the charges of the last
  /// step.
  [[nodiscard]] virtual double gauss_error() = 0;
  [[nodiscard]] virtual const Profile& profile() const = 0;
  /// Each time that patches were balanced; empty where they are not.
  [[nodiscard]] virtual std::span<const BalanceNote> balancings() const = 0;
};

/// A way in which the box has D dimensions, with what all ways have: the solver on fixed blocks, and the tiles of the
/// patches of this rank's block.
template <int D>
class GridWay : public Way {
 public:
  [[nodiscard]] std::uint64_t steps_done() const final { return steps_; }
  [[nodiscard]] Totals totals() final;
  [[nodiscard]] const Profile& profile() const final { return profile_; }
  [[nodiscard]] std::span<const BalanceNote> balancings() const final { return notes_; }

  [[nodiscard]] const Problem<D>& problem() const noexcept { return problem_; }
  [[nodiscard]] Solver<D>& solver() noexcept { return solver_; }
  /// Those on this rank, valid until the next step. Waits for the particles of the last step. Not collective.
  [[nodiscard]] virtual std::vector<const Patch<D>*> local_patches() = 0;
  /// Puts this run, whose problem starts empty, where another one of the same problem was after `steps` steps, but for
  /// the fields, which are set in `solver()`. The particles of all ranks together are all there are; each may be
  /// anywhere in the grid. Collective.
  virtual void go_on(std::uint64_t steps, std::vector<Migrant<D>> particles, std::uint64_t absorbed) = 0;

 protected:
  /// `ranks` is borrowed. Throws: `plait::Error` when there are too few cells.
  GridWay(Problem<D> problem, int patches_per_rank, Ranks& ranks, PoissonOptions poisson);

  Problem<D> problem_;
  Ranks& ranks_;
  Layout<D> layout_;
  Solver<D> solver_;
  HomeTiles<D> home_;
  std::uint64_t steps_ = 0;
  Profile profile_;
  std::vector<BalanceNote> notes_;
};

}  // namespace pic
