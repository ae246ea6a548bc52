// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "plait/fft.hpp"
#include "plait/plait.hpp"

#include "dns/diagnostics.hpp"
#include "dns/physics.hpp"

namespace dns {

/// The state of a flow on this rank: modes in the layout of `Plan::spectral`, so that u(x) = sum of u(k) exp(i k.x).
/// Of each two that are conjugates, the plan keeps one; Nyquist modes and what dealiasing cuts off are zero.
struct Fields {
  std::vector<std::vector<std::complex<double>>> u;        ///< Three.
  std::vector<std::vector<std::complex<double>>> scalars;  ///< One for each of the physics.
};

/// What a solver takes on one rank, all in bytes.
struct Memory {
  std::size_t modes = 0;       ///< Arrays in spectral space: state, stages, and what is transformed.
  std::size_t points = 0;      ///< Arrays in physical space.
  std::size_t transforms = 0;  ///< Buffers of the transforms in flight.

  [[nodiscard]] std::size_t total() const noexcept { return modes + points + transforms; }
};

/// Where the time of steps went, on this rank.
struct StepTimes {
  std::chrono::nanoseconds total{};
  std::chrono::nanoseconds transforms{};  ///< In `fft::run`; 0 where a stage is one graph.
  std::chrono::nanoseconds pointwise{};   ///< In the work on points and modes; with tasks, summed over workers.
  std::uint64_t steps = 0;
};

/// Integrates a flow. The plan's variant decides how: with PLT a stage is one graph of tasks, made once, in which
/// transforms of all variables, products and updates overlap; with others they follow one another (`fft::run`).
///
/// Every rank makes one with the same arguments and calls the same functions in the same order, but for what is
/// `const`. Results do not depend on the variant, and on the grid of ranks only through rounding. Threads: one at a
/// time.
class Solver {
 public:
  /// A flow at rest, at time 0. Borrows runtime and plan, which must be of real numbers.
  /// Throws: `plait::Error` with `bad_argument` for physics that make no sense, as a negative viscosity.
  Solver(plait::Runtime& runtime, const plait::fft::Plan& plan, Physics physics, Scheme scheme);
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;
  ~Solver();

  /// What a solver takes on that one of `ranks` that has most, before anything is made.
  /// Throws: as `fft::Plan::bytes_needed`.
  [[nodiscard]] static Memory memory_needed(const std::array<plait::fft::Index, 3>& lengths,
                                            const plait::fft::PlanOptions& options,
                                            std::uint32_t ranks,
                                            const Physics& physics,
                                            const Scheme& scheme);

  [[nodiscard]] const plait::fft::Plan& plan() const noexcept;
  [[nodiscard]] const Physics& physics() const noexcept;
  [[nodiscard]] const Scheme& scheme() const noexcept;

  [[nodiscard]] const Fields& fields() const noexcept;
  /// To be written, on all ranks alike: modes that are not kept are cut off at the next step or measurement. Velocities
  /// must be free of divergence, or made so by `project`. What holding energy gives back is that of the next step's
  /// start.
  [[nodiscard]] Fields& fields() noexcept;
  /// Takes from the velocity what has divergence, and modes that are not kept. Returns the part of the energy that it
  /// took.
  double project();

  [[nodiscard]] double time() const noexcept;
  [[nodiscard]] std::uint64_t step_count() const noexcept;
  /// As after a restart; random numbers depend on the number of the step.
  void set_time(double time, std::uint64_t step_count);
  /// What forcing remembers, the same on all ranks; to be kept in checkpoints beside the fields. May be empty.
  [[nodiscard]] std::vector<double> forcing_state() const;
  /// Throws: `plait::Error` with `bad_input` when that is of another forcing.
  void set_forcing_state(std::span<const double> state);

  /// One step of `dt`.
  ///
  /// Throws: `plait::Error` with `bad_argument` on all ranks when a velocity is no finite number any more: the error
  /// names the step and the Courant number. The fields are lost then.
  void step(double dt);

  /// Largest sum over axes of |u_a| / h_a on the grid: dt times this is the Courant number of the next step. Free after
  /// a step, whose last stage has measured it; else three transforms. Infinite when a velocity is not finite.
  [[nodiscard]] double courant_rate();

  [[nodiscard]] Diagnostics diagnose(Detail detail = Detail::all);

  /// Computes velocity, vorticity and scalars at all points, in the layout of `Plan::physical`, where the functions
  /// after it show them until the next step or measurement. Cost: 6 transforms and one a scalar.
  void to_points();
  [[nodiscard]] std::span<double> velocity(int axis);
  [[nodiscard]] std::span<double> vorticity(int axis);
  [[nodiscard]] std::span<double> scalar(std::size_t number);
  /// Makes the fields of what was written into `velocity` and `scalar`, and projects the velocity.
  /// Returns the part of its energy that could not be taken: what has divergence, or wave numbers that are not kept.
  double from_points();

  /// Since the last reset.
  [[nodiscard]] const StepTimes& times() const noexcept;
  void reset_times() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dns
