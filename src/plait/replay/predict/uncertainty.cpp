// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/predict/uncertainty.hpp"

#include <array>
#include <cmath>
#include <utility>

#include "plait/replay/predict/predict.hpp"

namespace plait::replay {

std::optional<nanoseconds> uncertainty(const Scenario& scenario, nanoseconds predicted) {
  const std::optional<Spread>& spread = scenario.platform.spread;
  if (!spread) {
    return std::nullopt;
  }
  const std::array<WhatIf, 3> longer{{{.kind = WhatIf::Kind::latency, .value = 1 + spread->latency},
                                      {.kind = WhatIf::Kind::overhead, .value = 1 + spread->overhead},
                                      {.kind = WhatIf::Kind::bandwidth, .value = 1 / (1 + spread->bytes)}}};
  double squares = 0;
  for (const WhatIf& what_if : longer) {
    const Scenario changed = with(scenario, {what_if}).value();
    const nanoseconds total = predict(*changed.schedule, changed.platform, changed.options).value().total;
    squares += std::pow(static_cast<double>((total - predicted).count()), 2);
  }
  return nanoseconds{std::llround(std::sqrt(squares))};
}

}  // namespace plait::replay
