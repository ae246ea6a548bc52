// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "plait/fft.hpp"
#include "plait/plait.hpp"

#include "dns/band_forcing.hpp"
#include "dns/diagnostics.hpp"
#include "dns/modes.hpp"
#include "dns/physics.hpp"
#include "dns/stage.hpp"

namespace dns {

/// Memory of a solver on one rank, in bytes.
struct Memory {
  std::size_t modes = 0;       ///< Arrays in spectral space: state, stages, input and output of transforms.
  std::size_t points = 0;      ///< Arrays in physical space.
  std::size_t transforms = 0;  ///< Buffers of the transforms in flight.

  [[nodiscard]] std::size_t total() const noexcept { return modes + points + transforms; }
};

/// Integrates a flow. With the plan's variant PLT, a stage is one graph of tasks in which transforms of all variables,
/// products and updates overlap. With other variants they follow one another (`fft::run`).
///
/// All ranks create it with the same arguments and call its non-const functions in the same order. Results do not
/// depend on the variant, and depend on the grid of ranks only through rounding. Threads: one at a time.
class Solver {
 public:
  /// A flow at rest, at time 0. Borrows runtime and plan, which must be of real numbers.
  /// Throws: `plait::Error` with `bad_argument` for invalid physics, such as a negative viscosity.
  Solver(plait::Runtime& runtime, const plait::fft::Plan& plan, Physics physics, const Scheme& scheme);
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  /// The memory of a solver, before it is created: on that of `ranks` that needs most.
  /// Throws: as `fft::Plan::bytes_needed`.
  [[nodiscard]] static Memory memory_needed(const std::array<plait::fft::Index, 3>& lengths,
                                            const plait::fft::PlanOptions& options,
                                            std::uint32_t ranks,
                                            const Physics& physics,
                                            const Scheme& scheme);

  [[nodiscard]] const plait::fft::Plan& plan() const noexcept { return plan_; }
  [[nodiscard]] const Physics& physics() const noexcept { return physics_; }
  [[nodiscard]] const Modes& modes() const noexcept { return modes_; }

  [[nodiscard]] const Fields& fields() const noexcept { return stage_.arrays().state; }
  /// For writing, on all ranks. The next step or measurement cuts off modes that are not kept. Velocities must be
  /// free of divergence; see `project`. Forcing that holds energy takes the energy of the next step's start.
  [[nodiscard]] Fields& fields() noexcept;
  /// Removes the divergent part of the velocity and modes that are not kept. Returns the fraction of energy removed.
  double project();

  [[nodiscard]] double time() const noexcept { return time_; }
  [[nodiscard]] std::uint64_t step_count() const noexcept { return steps_; }
  /// For restarts. Random numbers depend on the number of the step.
  void set_time(double time, std::uint64_t step_count) noexcept;
  /// The state of the forcing, the same on all ranks, for checkpoints. May be empty.
  [[nodiscard]] const std::vector<double>& forcing_state() const noexcept { return forcing_.state(); }
  /// Throws: `plait::Error` with `bad_input` if the state is of another forcing.
  void set_forcing_state(std::span<const double> state) { forcing_.set_state(state); }

  /// Advances the flow by `dt`.
  ///
  /// Throws: `plait::Error` with `bad_argument` on all ranks if a velocity is not finite: the error names the step and
  /// the Courant number. The fields are lost then.
  void step(double dt);

  /// Largest sum over axes of |u_a| / h_a on the grid: dt times this is the Courant number of the next step. Infinite
  /// if a velocity is not finite. Cost: none after a step, which has measured it; else three transforms.
  [[nodiscard]] double courant_rate();

  /// Cost: about two stages.
  [[nodiscard]] Diagnostics diagnose();

  /// Computes velocity, vorticity and scalars at all points, in the layout of `Plan::physical`. The functions below
  /// return them until the next step or measurement. Cost: 6 transforms and one per scalar.
  void to_points();
  [[nodiscard]] std::span<double> velocity(std::size_t axis) { return stage_.arrays().u[axis]; }
  [[nodiscard]] std::span<double> vorticity(std::size_t axis) { return stage_.arrays().omega[axis]; }
  [[nodiscard]] std::span<double> scalar(std::size_t number) { return stage_.arrays().flux_points[number][0]; }

  /// Since the last reset.
  [[nodiscard]] const StepTimes& times() const noexcept { return stage_.times; }
  void reset_times() noexcept { stage_.times = {}; }

 private:
  [[nodiscard]] Shift shift(int grid, std::uint64_t step) const;
  void prepare(Shift on_grid);
  void measure_transfer(Diagnostics& out);

  const plait::fft::Plan& plan_;
  const Physics physics_;
  const Scheme scheme_;
  const Modes modes_;
  plait::Group group_;
  BandForcing forcing_;
  Stage stage_;

  double time_ = 0;
  std::uint64_t steps_ = 0;
  bool has_new_fields_ = true;  ///< The caller may have written modes that are not kept.
  bool is_prepared_ = false;    ///< Inputs are those of the next step.
  double decay_dt_ = -1;
  double rate_ = -1;  ///< Unknown if negative.
  double power_ = 0;
};

}  // namespace dns
