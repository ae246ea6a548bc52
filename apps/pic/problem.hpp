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

/// How the particles of one species are put into the cells of a region at first.
template <int D>
struct Filling {
  std::uint32_t species = 0;
  Place<D> per_cell{};     ///< Particles along each axis of a cell; their product is that in a cell.
  bool is_random = false;  ///< Anywhere in the cell, else evenly spaced.
  Vector3 drift{};         ///< Momentum of all.
  double thermal = 0;      ///< Standard deviation of each component of momentum.
  double amplitude = 0;    ///< Largest displacement along x, in cells, as a sine of `waves` waves in the box.
  std::int32_t waves = 1;

  [[nodiscard]] std::uint64_t count() const;
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
  std::uint64_t particles = 0;  ///< About as many; the number in a cell is rounded at random.
  std::int32_t k = 0;           ///< Particles cross 2 k + 1 cells a step along x
  std::int32_t m = 1;           ///< and m along y.
  double rho = 0.99;            ///< Geometric: ratio of neighbouring columns.
  double alpha = 1;             ///< Linear: column x has beta - alpha x / cells.
  double beta = 3;
  Box<2> patch;  ///< Patch: the cells that have particles.

  /// Particles expected in a cell of column x.
  [[nodiscard]] double expected(const Place<2>& cell, const Place<2>& cells) const;
};

/// One physical problem: its laws, and where particles come from. The same on every rank; plain data.
template <int D>
struct Problem {
  std::string name;
  Physics<D> physics;
  std::uint64_t seed = 1;
  std::vector<Filling<D>> fillings;
  std::optional<Plate<D>> plate;
  std::optional<KernelProblem> kernel;
  std::uint32_t sort_steps = 20;  ///< Steps between sorts of particles by cell; 0: never.
  bool starts_empty = false;      ///< The first particles come from elsewhere: see `GridWay::go_on`.
};

/// Puts the first particles of the patch's cells into it. Who is where, and with which id, depends on the problem
/// alone, not on patches.
template <int D>
void load(const Problem<D>& problem, Patch<D>& patch);

/// What a patch does in step `step`, counted from 0: emits, advances, and sorts every `sort_steps` steps; see
/// `advance`. The fields must be in the patch; leavers are added to `leavers`.
template <int D>
void move_particles(const Problem<D>& problem, Patch<D>& patch, std::uint64_t step, std::vector<Migrant<D>>& leavers);

/// Of the analytic problem: how many of the patch's particles are further than `tolerance` cells from where they belong
/// after `steps` steps. 0 for other problems.
template <int D>
[[nodiscard]] std::uint64_t count_misplaced(const Problem<D>& problem,
                                            const Patch<D>& patch,
                                            std::uint64_t steps,
                                            double tolerance = 1e-6);

/// The options of a problem; what is 0 or absent there is the problem's own choice.
struct ProblemOptions {
  std::string name = "uniform";
  std::vector<std::int32_t> cells;  ///< Two or three numbers; they decide on the dimensions.
  std::uint32_t particles_per_cell = 0;
  std::uint64_t steps = 0;  ///< Of the whole run: an emission must know how many particles there will be.
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
};
[[nodiscard]] std::span<const ProblemKind> problem_kinds() noexcept;

/// Throws: `plait::Error` that names the option that cannot be.
template <int D>
[[nodiscard]] Problem<D> make_problem(const ProblemOptions& options);

}  // namespace pic
