// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "plait/plait.hpp"

#include "dns/mode_work.hpp"
#include "dns/modes.hpp"
#include "dns/point_work.hpp"
#include "dns/solver.hpp"

namespace dns {

/// Does work on every part of this rank's points or modes, with all workers.
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

/// One right-hand side: inputs go to points, products are made there, go back, and update the modes.
///
/// Transforms of 6 variables and one a scalar are in flight backward, of 3 and 3 a scalar forward. By the plan's
/// variant PLT all is one graph: a product's task waits for its planes of all variables only, an update for its modes,
/// so that each transform's messages travel while others compute. With other variants one follows the other.
class Stage {
 public:
  /// `state` and all others must outlive it. Collective.
  Stage(plait::Runtime& runtime,
        const plait::fft::Plan& plan,
        const Modes& modes,
        const Physics& physics,
        const Scheme& scheme);
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  Stage(Stage&&) = delete;
  Stage& operator=(Stage&&) = delete;
  ~Stage() = default;

  /// How many arrays of modes and of points it has, and how many executions.
  struct Counts {
    std::size_t modes = 0;
    std::size_t points = 0;
    std::size_t executions = 0;
  };
  [[nodiscard]] static Counts counts(const Scheme& scheme, std::size_t scalars);

  [[nodiscard]] Fields& state() noexcept { return state_; }
  [[nodiscard]] ModeWork& work() noexcept { return *work_; }
  [[nodiscard]] PartWork& on_modes() noexcept { return on_modes_; }
  [[nodiscard]] PartWork& on_points() noexcept { return on_points_; }

  /// Carries out what `work().stage()` says. Returns this rank's speeds at the stage's start.
  Speeds run();
  /// Makes the inputs anew from the state, with `work().stage().next`.
  void prepare();
  /// Brings inputs to points: all, or the velocity alone.
  void to_points(bool is_velocity_only = false);
  /// The three arrays `transformed()` to points, where the vorticity is otherwise.
  void transformed_to_points();
  /// Points to modes: the state becomes what stands in `velocity` and `scalar`.
  void from_points();
  /// Up to u x omega in `transformed`, without an update.
  void run_to_right_side();

  /// Velocity, vorticity and scalars at points.
  [[nodiscard]] std::span<double> velocity(std::size_t axis) noexcept { return u_[axis]; }
  [[nodiscard]] std::span<double> vorticity(std::size_t axis) noexcept { return omega_[axis]; }
  [[nodiscard]] std::span<double> scalar(std::size_t number) noexcept { return flux_points_[number][0]; }
  /// i k x v, u x omega, or what else was left there.
  [[nodiscard]] const Array& transformed(std::size_t axis) const noexcept { return transformed_[axis]; }

  StepTimes times;  ///< Steps are counted by who makes them.

 private:
  using Execution = plait::fft::Execution;

  void make_executions();
  void make_graph();
  void add_products(const std::vector<plait::fft::Tasks>& backward, const std::vector<plait::fft::Tasks>& forward);
  void add_updates(const std::vector<plait::fft::Tasks>& backward, const std::vector<plait::fft::Tasks>& forward);
  [[nodiscard]] std::size_t place_of(const Box& part) const noexcept;
  [[nodiscard]] Speeds cross(const Box& part) noexcept;
  void flux(std::size_t scalar, const Box& part) noexcept;
  void run_in_order();
  void transform(std::span<Execution> executions);
  [[nodiscard]] Speeds all_speeds() const noexcept;
  template <class Work>
  void timed(Work work) noexcept;

  plait::Runtime& runtime_;
  const plait::fft::Plan& plan_;
  const Modes& modes_;
  const std::size_t scalars_;
  std::array<double, 3> inverse_step_{};

  Fields state_;
  std::vector<Array> sum_;  ///< As `input_`: of velocity, then of scalars.
  std::vector<Array> kept_;
  std::vector<Array> input_;
  std::array<Array, 3> transformed_;
  std::vector<std::array<Array, 3>> flux_;  ///< The first may be the input.
  std::array<std::vector<double>, 3> u_;
  std::array<std::vector<double>, 3> omega_;
  std::vector<std::array<std::vector<double>, 3>> flux_points_;
  std::unique_ptr<ModeWork> work_;

  PartWork on_modes_;
  PartWork on_points_;
  std::vector<Execution> backward_;  ///< Velocity, vorticity, scalars.
  std::vector<Execution> forward_;   ///< u x omega, then the fluxes of each scalar.
  std::vector<Speeds> speeds_;       ///< By part.
  std::atomic<std::int64_t> pointwise_ns_ = 0;
  std::unique_ptr<plait::task::Graph> graph_;
};

}  // namespace dns
