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

/// A task that reads, or writes, points of an array; `box` has indices of the whole array.
struct Part {
  Box box;
  task::Task task;
};

/// What of a transform touches the caller's arrays. A task that makes input comes before each of `reads` whose box
/// has a point of it; one that uses output comes after each of `writes`, and one that must be done with what stood
/// there comes before them. Boxes may overlap, as a part of the output may be written by several tasks, one after
/// another.
struct Tasks {
  std::vector<Part> reads;
  std::vector<Part> writes;
};

/// One transform in flight, of given arrays; used any number of times, one after the other. Any number of executions
/// of a plan may be in flight at once.
///
/// All ranks make the same executions in the same order. The arrays stay the caller's, where they are, in the plan's
/// layouts, at any alignment; input and output must not overlap, and input is left as it is. `scale` multiplies the
/// result, at no cost. Owns the buffers that messages need (`Plan::execution_bytes`).
/// Throws: `Error` with `bad_argument` when an array has another size than the plan's layout, or the plan is for arrays
/// of the other kind. Threads: one at a time.
class Execution {
 public:
  /// Forward, of real numbers.
  Execution(const Plan& plan,
            std::span<const double> physical,
            std::span<std::complex<double>> spectral,
            double scale = 1);
  /// Backward, to real numbers. Of numbers that are not the transform of a real array, the part that is comes out.
  Execution(const Plan& plan,
            std::span<const std::complex<double>> spectral,
            std::span<double> physical,
            double scale = 1);
  /// Complex numbers both ways: `from` is physical and `to` spectral when `direction` is forward, else the reverse.
  Execution(const Plan& plan,
            Direction direction,
            std::span<const std::complex<double>> from,
            std::span<std::complex<double>> to,
            double scale = 1);
  Execution(Execution&&) noexcept;
  Execution& operator=(Execution&&) noexcept;
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;
  ~Execution();

  /// Adds the transform to `graph` as tasks that move data themselves, whatever the plan's variant. At most once a
  /// graph; two graphs that have it must not run at once. All ranks run the graph with the same executions, which must
  /// outlive it. On the physical side there is a part for each piece: some planes of axis 0.
  ///
  /// Cost: a few tasks a piece and member of row and column. Workers are those of the plan's scheduler, which alone may
  /// run the graph.
  [[nodiscard]] Tasks add_to(task::Graph& graph);

  /// Carries out the transform by the plan's variant, and returns when the output is there. Collective.
  void run();

  [[nodiscard]] Direction direction() const noexcept;

 private:
  friend void run(std::span<Execution* const> executions);
  std::shared_ptr<detail::Transform> transform_;
};

/// Carries out several transforms at once and returns when all are done. Collective, with the same executions in the
/// same order on all ranks, each once; of plans on one scheduler and with one variant.
///
/// As tasks (PLT), all go forward whenever their data has come; the graph is made once for the same list, and kept by
/// its first execution. Else stage by stage: while one is exchanged, the next is transformed. All workers compute;
/// exchanges are called by the calling thread only.
void run(std::span<Execution* const> executions);

}  // namespace plait::fft
