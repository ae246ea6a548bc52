// SPDX-License-Identifier: Apache-2.0
#include "sph/program/settings.hpp"

#include <cmath>

#include <fmt/format.h>

namespace sph {

namespace {

/// Gives `value` to `place` when there is one that is at least, or more than, `low`.
enum class Bound : bool { more_than, at_least };
template <class T>
void take(T& place, const std::optional<T>& value, const char* option, T low, Bound bound) {
  if (!value) {
    return;
  }
  if (!(bound == Bound::at_least ? *value >= low : *value > low) || !std::isfinite(*value)) {
    throw plait::Error{plait::ErrorCode::bad_argument,
                       fmt::format("{} {} makes no sense: it must be {} {}",
                                   option,
                                   *value,
                                   bound == Bound::at_least ? "at least" : "more than",
                                   low)};
  }
  place = *value;
}

}  // namespace

Scheme merge(Scheme scheme, const RunSettings& settings) {
  if (settings.scheme) {
    scheme.kind = *settings.scheme == "minimal" ? SchemeKind::minimal : SchemeKind::modern;
  }
  if (settings.kernel) {
    scheme.kernel = *settings.kernel == "cubic-spline" ? KernelKind::cubic_spline : KernelKind::wendland_c2;
  }
  take(scheme.eta, settings.eta, "--eta", 0.8F, Bound::at_least);
  take(scheme.gamma, settings.gamma, "--gamma", 1.0F, Bound::more_than);
  take(scheme.courant, settings.courant, "--courant", 0.0F, Bound::more_than);
  take(scheme.viscosity, settings.viscosity, "--viscosity", 0.0F, Bound::at_least);
  take(scheme.smoothing_max, settings.smoothing_max, "--smoothing-max", 0.0F, Bound::more_than);
  take(scheme.energy_min, settings.energy_min, "--energy-min", 0.0F, Bound::at_least);
  take(scheme.gravity.constant, settings.gravity, "--gravity", 0.0, Bound::at_least);
  take(scheme.gravity.softening, settings.softening, "--softening", 0.0, Bound::at_least);
  take(scheme.gravity.theta, settings.theta, "--theta", 0.0, Bound::at_least);
  return scheme;
}

}  // namespace sph
