// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "plait/fft.hpp"
#include "plait/plait.hpp"

#include "dns/mode_work.hpp"
#include "dns/modes.hpp"
#include "dns/point_work.hpp"

namespace dns {

/// Calls a function for every part of this rank's points or modes, on all workers.
class PartWork {
 public:
  using Work = std::function<void(const Box& part, std::size_t number)>;

  /// Parts are ranges of axis 0 of `box`: one, or four per worker if there are several workers.
  PartWork(plait::Runtime& runtime, const Box& box);

  /// Returns when all calls have returned.
  void run(const Work& work);
  [[nodiscard]] std::size_t count() const noexcept { return parts_.size(); }

 private:
  plait::Runtime& runtime_;
  std::vector<Box> parts_;
  const Work* work_ = nullptr;
  plait::task::Graph graph_;
};

/// Where the time of steps went, on this rank.
struct StepTimes {
  std::chrono::nanoseconds total{};
  std::chrono::nanoseconds transforms{};  ///< In `fft::run`; 0 if a stage is one graph.
  std::chrono::nanoseconds pointwise{};   ///< In the work on points and modes; with tasks, summed over workers.
  std::uint64_t steps = 0;
};

/// One right-hand side: transforms inputs to points, computes products there, transforms them back, updates the modes.
///
/// Backward, transforms of 6 variables and one for each scalar are in flight; forward, 3 and 3 for each scalar. With
/// the plan's variant PLT, a stage is one graph: a product's task waits only for its planes of all variables, an
/// update only for its modes. Messages of some transforms overlap with the computation of others. With other
/// variants, transforms, products and updates follow one another.
class Stage {
 public:
  /// Borrows all arguments. Collective.
  Stage(plait::Runtime& runtime,
        const plait::fft::Plan& plan,
        const Modes& modes,
        const Physics& physics,
        const Scheme& scheme);
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  /// The number of transforms of a stage.
  [[nodiscard]] static std::size_t execution_count(std::size_t scalars) { return 9 + 4 * scalars; }

  [[nodiscard]] FlowArrays& arrays() noexcept { return arrays_; }
  [[nodiscard]] const FlowArrays& arrays() const noexcept { return arrays_; }
  [[nodiscard]] ModeWork& work() noexcept { return work_; }
  /// Calls a function of `work()` for all modes, in parallel.
  void run_on_modes(void (ModeWork::*action)(const Box&) const noexcept);

  /// Runs the stage that `work().stage()` describes. Returns this rank's speeds at the stage's start.
  Speeds run();
  /// Computes the inputs from the state, for products on the grid shifted by `next`.
  void prepare(Shift next);
  /// Transforms the inputs of the velocity, or all, to points.
  void velocity_to_points() { transform(std::span{backward_}.first(3)); }
  void to_points() { transform(backward_); }
  /// Transforms `transformed` to the points of the vorticity.
  void transformed_to_points() { transform(std::span{backward_}.subspan(3, 3)); }
  /// Computes u x omega in `transformed`, without an update.
  void run_to_right_side();
  /// This rank's speeds, of the velocity at points.
  [[nodiscard]] Speeds measure_speeds();

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
  void update_modes();
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
