// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "pic/home_tiles.hpp"
#include "pic/problem.hpp"
#include "pic/solver.hpp"

namespace pic {

/// Sums over the whole box, the same on every rank and for every way of running.
struct Totals {
  std::uint64_t particles = 0;
  std::uint64_t absorbed = 0;   ///< By walls, since the beginning.
  std::uint64_t checksum = 0;   ///< Of all particles and fields, bit for bit.
  std::uint64_t misplaced = 0;  ///< Of the analytic problem: particles that are not at their exact place.
  double kinetic = 0;           ///< Energies, in m c^2 n c^3 / plasma frequency^3 (per length in two dimensions).
  double electric = 0;
  double magnetic = 0;
  double momentum_x = 0;

  [[nodiscard]] double energy() const { return kinetic + electric + magnetic; }
};

/// The time of this rank by activity, since the beginning.
struct Profile {
  using Seconds = std::chrono::duration<double>;
  Seconds particles{};  ///< Moving and depositing: the load that may be unbalanced.
  Seconds migration{};  ///< Sending leavers, and waiting for ranks with more load.
  Seconds hand_over{};  ///< Copying fields to patches, charges and currents to the solver.
  Seconds solve{};
};

/// Adds its lifetime to a sum.
class Timer {
 public:
  explicit Timer(Profile::Seconds& sum) : sum_{sum} {}
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  ~Timer() { sum_ += std::chrono::steady_clock::now() - start_; }

 private:
  Profile::Seconds& sum_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// One balancing, by the loads that the balancer was given. Imbalance: max/mean - 1.
struct BalanceNote {
  std::uint64_t step = 0;
  double imbalance_before = 0;
  double imbalance_predicted = 0;
  double imbalance_bound = 0;  ///< The least of any placement: the heaviest patch over the mean, less 1.
  std::uint64_t moved = 0;     ///< Patches, of all ranks.
  double bytes_moved = 0;      ///< With their particles, of all ranks.
  Profile::Seconds decided{};  ///< Measuring and deciding, on this rank.
  Profile::Seconds migrated{};
};

/// A way of running a problem on several ranks: the solver is on fixed blocks, with the tiles of their patches. All
/// ways give the same `Totals::checksum`. All calls are collective except those that only read.
template <int D>
class GridWay {
 public:
  GridWay(const GridWay&) = delete;
  GridWay& operator=(const GridWay&) = delete;
  virtual ~GridWay() = default;

  /// One time step.
  virtual void step() = 0;
  [[nodiscard]] std::uint64_t steps_done() const { return steps_; }
  [[nodiscard]] Totals totals();
  /// The violation of Gauss's law; see `Solver::gauss_error`. Overwrites the charges of the last step.
  [[nodiscard]] virtual double gauss_error() = 0;
  [[nodiscard]] const Profile& profile() const { return profile_; }
  /// All balancings so far.
  [[nodiscard]] std::span<const BalanceNote> balancings() const { return notes_; }

  [[nodiscard]] const Problem<D>& problem() const noexcept { return problem_; }
  [[nodiscard]] Solver<D>& solver() noexcept { return solver_; }
  /// The patches on this rank, valid until the next step. Waits for the particles of the last step. Not collective.
  [[nodiscard]] virtual std::vector<const Patch<D>*> local_patches() = 0;
  /// Continues another run of the same problem after `steps` steps; this run's problem starts empty. The caller sets
  /// the fields in `solver()`. `particles` of all ranks together are all particles; each may be anywhere in the grid.
  /// Collective.
  virtual void go_on(std::uint64_t steps, std::vector<Migrant<D>> particles, std::uint64_t absorbed) = 0;

 protected:
  /// Borrows `ranks`. Throws: `plait::Error` when there are too few cells.
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
