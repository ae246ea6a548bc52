// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "plait/fft/detail/plan_state.hpp"
#include "plait/fft/detail/wiring.hpp"
#include "plait/fft/execution.hpp"
#include "plait/task/graph.hpp"

namespace plait::fft::detail {

/// The arrays of a transform. The direction determines which is input; input is not written.
struct Arrays {
  std::byte* physical = nullptr;
  Complex* spectral = nullptr;
};

/// One execution: the computation between exchanges, in order or as tasks.
///
/// Forward: `near` transforms planes along axis 2 (and 1, if the row has one rank), the row exchanges, `middle`
/// transforms along axis 1, the column exchanges, `far` transforms along axis 0. Backward: the reverse.
class Transform {
 public:
  /// Collective if the plan's variant has exchanges.
  Transform(std::shared_ptr<PlanState> plan, Direction direction, const Arrays& arrays, double scale);

  [[nodiscard]] const PlanState& plan() const noexcept { return *plan_; }

  [[nodiscard]] Tasks add_to(task::Graph& graph);

  // In order: a step waits for at most one exchange, computes, and starts at most one.
  [[nodiscard]] std::size_t step_count() const noexcept { return steps_.size(); }
  /// Runs a step, and calls `pulse` periodically.
  void carry_out(std::size_t step, const std::function<void()>& pulse);
  /// Advances the exchange in flight, if any.
  void advance();

  /// The graph of a list of transforms that begins with this one, for the next run of the same list.
  struct Kept {
    std::vector<std::weak_ptr<Transform>> members;
    std::unique_ptr<task::Graph> graph;
  };
  [[nodiscard]] std::vector<Kept>& kept() noexcept { return kept_; }

 private:
  class TaskBuilder;
  /// Computes some planes, or some sequences.
  using Compute = void (Transform::*)(const Wiring& wiring, const Range& some, std::size_t worker) const;
  struct Step {
    Exchange* awaited = nullptr;
    Compute compute = nullptr;
    Exchange* started = nullptr;
    std::unique_ptr<task::Graph> parts;  ///< For several workers; created by the first call.
  };

  void poll_network() const;
  // For some of this rank's planes, counted from its first.
  void near(const Wiring& wiring, const Range& planes, std::size_t worker) const;
  void middle(const Wiring& wiring, const Range& planes, std::size_t worker) const;
  // For some of this rank's sequences along axis 0, counted through planes of the spectral array.
  void far(const Wiring& wiring, const Range& sequences, std::size_t worker) const;

  // For one plane in scratch memory, with axis 1 whole.
  void along_axis_1(Complex* plane) const;
  static void distribute(const Complex* whole, double scale, std::span<const Segment> blocks, Index plane);
  static void collect(std::span<const Segment> blocks, Index plane, double scale, Complex* whole);
  /// For one plane with axis 2 whole, if the row has other ranks: calls `copy(offset, part, bytes)` for each part of a
  /// line in a block, with its offset in the plane.
  template <class Copy>
  void for_row_parts(std::span<const Segment> blocks, Index plane, Copy copy) const;

  /// The ranges between which the network is polled.
  [[nodiscard]] std::vector<Range> parts_of(Compute compute) const;

  [[nodiscard]] Index sequence_count() const noexcept { return plan_->geometry.column_plane_after(); }
  [[nodiscard]] std::byte* physical_plane(Index plane) const noexcept;

  std::shared_ptr<PlanState> plan_;
  Direction direction_;
  Arrays arrays_;
  double scale_;
  std::uint32_t number_;             ///< Among the executions of the plan; the same on all ranks.
  std::optional<Wiring> for_tasks_;  ///< Created at first use.
  std::optional<Wiring> in_order_;
  std::vector<Step> steps_;
  Exchange* under_way_ = nullptr;
  const std::function<void()>* pulse_ = nullptr;  ///< During a step.
  std::vector<Kept> kept_;
};

}  // namespace plait::fft::detail
