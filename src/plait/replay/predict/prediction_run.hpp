// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "plait/replay/predict/predict.hpp"
#include "plait/replay/schedule.hpp"

namespace plait::replay {

struct PredictionRun {
  std::filesystem::path folder;
  std::string platform;  ///< The machine that it was predicted for, from meta.json.
  std::uint32_t ranks_per_host = 1;
};

/// Writes a prediction as a run folder, as recorded programs leave one: each message, wait and collective, with the
/// predicted times. Expects: the prediction is of this schedule and keeps times. Throws: `Error` with `io`, also when
/// files of a run are there already.
void write_prediction(const PredictionRun& run, const Schedule& schedule, const Prediction& prediction);

}  // namespace plait::replay
