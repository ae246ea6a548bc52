// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "plait/fft.hpp"
#include "plait/plait.hpp"

#include "dns/mode_work.hpp"
#include "dns/modes.hpp"
#include "dns/point_work.hpp"
#include "dns/solver.hpp"

namespace dns {

/// Calls a function for every part of this rank's points or modes, on all workers.
class PartWork {
 public:
  using Work = std::function<void(const Box& part, std::size_t number)>;

  /// Parts are ranges of axis 0 of `box`: one, or some for each worker if there are several.
  PartWork(plait::Runtime& runtime, const Box& box);

  /// Returns when all is done.
  void run(const Work& work);
  [[nodiscard]] std::size_t count() const noexcept { return parts_.size(); }

 private:
  plait::Runtime& runtime_;
  std::vector<Box> parts_;
  const Work* work_ = nullptr;
  plait::task::Graph graph_;
};

/// The arrays of a flow on this rank: of modes, and of points.
struct FlowArrays {
  FlowArrays(const plait::fft::Plan& plan, const Scheme& scheme, std::size_t scalars);

  /// How many of each a flow has.
  struct Counts {
    std::size_t modes = 0;
    std::size_t points = 0;
  };
  [[nodiscard]] static Counts counts(const Scheme& scheme, std::size_t scalars);

  [[nodiscard]] std::size_t scalars() const noexcept { return flux.size(); }
  /// The modes of a scalar's flux along axis 0, which may be those of its input.
  [[nodiscard]] Array& first_flux(std::size_t scalar) noexcept {
    return kept.empty() ? input[3 + scalar] : flux[scalar][0];
  }
  [[nodiscard]] ModeWork::Arrays modes();

  Fields state;
  std::vector<Array> sum;  ///< As `input`: of velocity, then of scalars. Empty if the scheme needs none.
  std::vector<Array> kept;
  std::vector<Array> input;
  std::array<Array, 3> transformed;  ///< i k x v, u x omega, or results of `ModeWork`.
  std::vector<std::array<Array, 3>> flux;
  std::array<std::vector<double>, 3> u;
  std::array<std::vector<double>, 3> omega;
  std::vector<std::array<std::vector<double>, 3>> flux_points;  ///< The first is the scalar itself.
};

/// One right-hand side: transforms inputs to points, computes products there, transforms them back, and updates the
/// modes.
///
/// Backward, transforms of 6 variables and one for each scalar are in flight; forward, 3 and 3 for each scalar. With
/// the plan's variant PLT, a stage is one graph: the task of a product waits for its planes of all variables only, an
/// update for its modes, so that messages of some transforms travel while others compute. With other variants, one
/// follows the other.
class Stage {
 public:
  /// Borrows all. Collective.
  Stage(plait::Runtime& runtime,
        const plait::fft::Plan& plan,
        const Modes& modes,
        const Physics& physics,
        const Scheme& scheme);
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  /// Executions of transforms that a stage has.
  [[nodiscard]] static std::size_t execution_count(std::size_t scalars) { return 9 + 4 * scalars; }

  [[nodiscard]] FlowArrays& arrays() noexcept { return arrays_; }
  [[nodiscard]] ModeWork& work() noexcept { return work_; }
  [[nodiscard]] PartWork& on_modes() noexcept { return on_modes_; }
  [[nodiscard]] PartWork& on_points() noexcept { return on_points_; }

  /// Runs the stage that `work().stage()` describes. Returns this rank's speeds at the stage's start.
  Speeds run();
  /// Computes the inputs from the state, with `work().stage().next`.
  void prepare();
  /// Transforms inputs to points: all, or the velocity alone.
  void to_points(bool is_velocity_only = false);
  /// Transforms `transformed` to the points of the vorticity.
  void transformed_to_points();
  /// Transforms the points of velocity and scalars to the state.
  void from_points();
  /// Up to u x omega in `transformed`, without an update.
  void run_to_right_side();

  StepTimes times;  ///< The caller counts the steps.

 private:
  using Execution = plait::fft::Execution;
  using AllTasks = std::vector<plait::fft::Tasks>;

  void make_executions();
  void make_graph();
  void add_products(const AllTasks& backward, const AllTasks& forward);
  void add_updates(const AllTasks& backward, const AllTasks& forward);
  [[nodiscard]] std::size_t place_of(const Box& part) const noexcept;
  [[nodiscard]] Speeds cross(const Box& part) noexcept;
  void flux(std::size_t scalar, const Box& part) noexcept;
  void run_in_order();
  void transform(std::span<Execution> executions);
  template <class Work>
  void timed(Work work) noexcept;

  plait::Runtime& runtime_;
  const plait::fft::Plan& plan_;
  const std::array<double, 3> inverse_step_;
  FlowArrays arrays_;
  ModeWork work_;
  PartWork on_modes_;
  PartWork on_points_;
  std::vector<Execution> backward_;  ///< Velocity, vorticity, scalars.
  std::vector<Execution> forward_;   ///< u x omega, then the fluxes of each scalar.
  std::vector<Speeds> speeds_;       ///< By part.
  std::atomic<std::int64_t> pointwise_ns_ = 0;
  std::unique_ptr<plait::task::Graph> graph_;
};

}  // namespace dns
