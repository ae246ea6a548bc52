// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "plait/fft/plan.hpp"
#include "plait/task/graph.hpp"

namespace plait::fft {

namespace detail {
class Transform;
}

enum class Direction : std::uint8_t { forward, backward };

/// A task that reads or writes points of an array. `box` has indices of the whole array.
struct Part {
  IndexBox box;
  task::Task task;
};

/// The tasks of a transform that access the caller's arrays. A task that produces input must precede the `reads` whose
/// boxes intersect it. A task that reads output must follow the `writes`, and one that reads the previous contents of
/// the output must precede them. Boxes may overlap: several tasks may write a part of the output, in sequence.
struct Tasks {
  std::vector<Part> reads;
  std::vector<Part> writes;
};

/// A transform of given arrays, which may run repeatedly. Any number of executions of a plan may be in flight at once.
///
/// All ranks create the same executions in the same order. The arrays are borrowed, in the plan's layouts, with any
/// alignment. Input and output must not overlap; input is not changed. `scale` multiplies the result, at no cost. An
/// execution owns its message buffers (`Plan::execution_bytes`).
/// Throws: `Error` with `bad_argument` if the size of an array differs from the plan's layout, or the plan is of the
/// other kind. Threads: one at a time.
class Execution {
 public:
  /// Forward, of real numbers.
  Execution(const Plan& plan,
            std::span<const double> physical,
            std::span<std::complex<double>> spectral,
            double scale = 1);
  /// Backward, to real numbers. Ignores components of the input that no real array has.
  Execution(const Plan& plan,
            std::span<const std::complex<double>> spectral,
            std::span<double> physical,
            double scale = 1);
  /// Of complex numbers. Forward, `from` is physical and `to` spectral; backward, the reverse.
  Execution(const Plan& plan,
            Direction direction,
            std::span<const std::complex<double>> from,
            std::span<std::complex<double>> to,
            double scale = 1);
  Execution(Execution&&) noexcept = default;
  Execution& operator=(Execution&&) noexcept = default;
  ~Execution();

  /// Adds the transform to `graph` as tasks, which exchange by messages for any variant of the plan. At most once per
  /// graph; two graphs with it must not run at once. All ranks run the graph with the same executions, which must
  /// outlive it. In physical space there is one part for each piece, which is some planes of axis 0.
  ///
  /// Only the plan's scheduler may run the graph. Cost: a few tasks for each piece and member of row and column.
  [[nodiscard]] Tasks add_to(task::Graph& graph);

  /// Runs the transform by the plan's variant, and returns when the output is complete. Collective.
  void run();

 private:
  friend void run(std::span<Execution* const> executions);
  std::shared_ptr<detail::Transform> transform_;
};

/// Runs several transforms at once and waits for all. Collective: all ranks pass the same executions in the same order,
/// each once. Their plans have one scheduler and one variant.
///
/// With PLT, tasks of all transforms run when their data have arrived. The first execution keeps the graph for the next
/// call with the same list. With other variants, one transform exchanges while the next computes. All workers compute;
/// only the calling thread calls exchanges.
void run(std::span<Execution* const> executions);

}  // namespace plait::fft
