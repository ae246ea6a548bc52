// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/base/error.hpp"
#include "plait/replay/predict/predict.hpp"

namespace plait::replay {

/// Returns a recorded schedule with the computing times of the program alone: without what messages took of its
/// processors, and without the time in which other ranks had its cores. Both are by the model of `recorded_on`, the
/// machine of the recording. A schedule is unchanged if that platform has no stolen times and no shared cores.
///
/// So a prediction for the machine of the recording does not count them twice, and one for another machine counts that
/// machine's. Cost: a prediction. Error: as of `predict`.
[[nodiscard]] Result<Schedule> with_computing_alone(Schedule schedule,
                                                    const Platform& recorded_on,
                                                    const PredictOptions& options = {});

}  // namespace plait::replay
