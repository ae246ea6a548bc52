// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "plait/base/clock.hpp"
#include "plait/replay/predict/predict_tasks.hpp"
#include "plait/replay/predict/what_if.hpp"

namespace plait::replay {

/// How far a prediction may be off because its platform was measured with a spread: what it changes when latency,
/// overheads and the time of bytes are each longer by their spread, as the root of the sum of squares. What the model
/// leaves out comes in addition. Nothing if the platform has no spread. Cost: three further predictions. Throws:
/// `Error` as `predict`.
[[nodiscard]] std::optional<nanoseconds> uncertainty(const Scenario& scenario, nanoseconds predicted);

/// How far a prediction of tasks may be off, by what the run itself shows.
struct TaskUncertainty {
  nanoseconds model{};      ///< As the prediction of the recorded run itself differs from the record.
  nanoseconds computing{};  ///< As kinds of tasks take other times in other steps: the standard error of their sums.
  std::uint32_t steps = 0;  ///< That have tasks. With less than two the times of kinds have no known spread.
  /// The root of the sum of squares.
  [[nodiscard]] nanoseconds whole() const noexcept;
};

/// That of a prediction of `predicted` with these options; `unchanged` is the one without a change. What tasks take
/// from each other where they share a memory comes in addition. Cost: a further prediction. Throws: `Error` as
/// `predict_tasks`.
[[nodiscard]] TaskUncertainty uncertainty_of_tasks(const TaskRun& run,
                                                   const Platform& platform,
                                                   const TaskOptions& options,
                                                   nanoseconds predicted,
                                                   nanoseconds unchanged);

}  // namespace plait::replay
