// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "plait/base/clock.hpp"
#include "plait/replay/predict/what_if.hpp"

namespace plait::replay {

/// How far a prediction may be off because its platform was measured with a spread: what it changes when latency,
/// overheads and the time of bytes are each longer by their spread, as the root of the sum of squares. What the model
/// leaves out comes in addition. Nothing if the platform has no spread. Cost: three further predictions. Throws:
/// `Error` as `predict`.
[[nodiscard]] std::optional<nanoseconds> uncertainty(const Scenario& scenario, nanoseconds predicted);

}  // namespace plait::replay
