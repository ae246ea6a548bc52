// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pic/patch.hpp"

namespace pic {

/// The first particles of one species in each cell.
template <int D>
struct Filling {
  std::uint32_t species = 0;
  Place<D> per_cell{};     ///< Particles along each axis of a cell; the product is the number in a cell.
  bool is_random = false;  ///< At random places in the cell, else evenly spaced.
  Vector3 drift{};         ///< Mean momentum.
  double thermal = 0;      ///< Standard deviation of each component of momentum.
  double amplitude = 0;    ///< Largest displacement along x, in cells, as a sine of `waves` waves in the box.
  std::int32_t waves = 1;

  [[nodiscard]] std::uint64_t count() const { return static_cast<std::uint64_t>(Box<D>{{}, per_cell}.count()); }
};

/// A plate in the low wall of x that emits particles: each of its cells `per_step` in every step.
template <int D>
struct Plate {
  std::uint32_t species = 0;
  Box<D> cells;  ///< One cell thick along x.
  std::uint32_t per_step = 0;
  Vector3 drift{};
  double thermal = 0;
};

/// The particle-in-cell problem of the Parallel Research Kernels (`kernel_problem.hpp`).
struct KernelProblem {
  enum class Distribution : std::uint8_t { geometric, sinusoidal, linear, patch };
  Distribution distribution = Distribution::geometric;
  std::uint64_t particles = 0;  ///< Approximately: the number in a cell is rounded at random.
  std::int32_t k = 0;           ///< Particles cross 2 k + 1 cells a step along x.
  std::int32_t m = 1;           ///< Particles cross m cells a step along y.
  double rho = 0.99;            ///< Geometric: ratio of neighbouring columns.
  double alpha = 1;             ///< Linear: column x has beta - alpha x / cells.
  double beta = 3;
  Box<2> patch;  ///< Patch: the cells that have particles.

  /// Particles expected in a cell of column x.
  [[nodiscard]] double expected(const Place<2>& cell, const Place<2>& cells) const;
};

/// A physical problem: its laws, and the origin of its particles. The same on every rank.
template <int D>
struct Problem {
  std::string name;
  Physics<D> physics;
  std::uint64_t seed = 1;
  std::vector<Filling<D>> fillings;
  std::optional<Plate<D>> plate;
  std::optional<KernelProblem> kernel;
  bool starts_empty = false;  ///< The first particles come from a checkpoint: see `GridWay::go_on`.

  /// Adds the first particles of the patch's cells. Their places and ids do not depend on patches.
  void load(Patch<D>& patch) const;
  /// Makes step `step` of a patch, counted from 0: emits, advances, and periodically sorts; see `Patch::advance`. The
  /// fields must be in the patch; leavers are added to `leavers`.
  void move_particles(Patch<D>& patch, std::uint64_t step, std::vector<Migrant<D>>& leavers) const;
  /// Counts the particles of the analytic problem that are off by more than 1e-6 cells after `steps` steps. 0 for other
  /// problems.
  [[nodiscard]] std::uint64_t count_misplaced(const Patch<D>& patch, std::uint64_t steps) const;
};

/// The options of a problem. Where a value is 0 or absent, the problem's own applies.
struct ProblemOptions {
  std::string name = "uniform";
  std::vector<std::int32_t> cells;  ///< Two or three numbers, as many as dimensions.
  std::uint32_t particles_per_cell = 16;
  std::uint64_t steps = 0;  ///< Of the whole run: they bound the number of emitted particles.
  std::optional<Solve> solve;
  int order = 1;
  double time_step = 0;
  std::uint64_t seed = 1;
  double thermal = -1;                        ///< Thermal momentum; -1: the problem's own.
  std::array<double, 2> plate{0.375, 0.625};  ///< Part of the low wall that emits, along y (and z), in box lengths.
  KernelProblem kernel;
};

/// One line of the table of problems.
struct ProblemKind {
  std::string_view name;
  std::string_view help;
  Problem<2> (*make_2)(const ProblemOptions& options);
  Problem<3> (*make_3)(const ProblemOptions& options);
};
[[nodiscard]] std::span<const ProblemKind> problem_kinds() noexcept;

/// Makes the problem of that name. Throws: `plait::Error` that names the bad option.
template <int D>
[[nodiscard]] Problem<D> make_problem(const ProblemOptions& options);

}  // namespace pic
