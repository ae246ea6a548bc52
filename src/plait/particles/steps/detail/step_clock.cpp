// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/steps/detail/step_clock.hpp"

#include <cmath>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait::particles::detail {

double checked_duration(const char* what, double duration, double from, double to) {
  if (std::isfinite(duration) && duration * (to - from) >= 0) {
    return duration;
  }
  throw Error{ErrorCode::bad_argument,
              fmt::format("Integrator::{} returned {} for the time from {} to {}: return a finite duration with the "
                          "sign of their difference",
                          what,
                          duration,
                          from,
                          to)};
}

}  // namespace plait::particles::detail
