// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "plait/replay/predict/predict.hpp"
#include "plait/replay/schedule.hpp"

namespace plait::replay {

struct PredictionRun {
  std::filesystem::path folder;
  std::string platform;  ///< Name of the platform, for meta.json.
  std::uint32_t ranks_per_host = 1;
};

/// Writes a prediction as a trace folder, with the predicted times of each message, wait and collective. Expects: the
/// prediction is of this schedule and keeps times. Throws: `Error` with `io`, also if the folder has a trace already.
void write_prediction(const PredictionRun& run, const Schedule& schedule, const Prediction& prediction);

}  // namespace plait::replay
