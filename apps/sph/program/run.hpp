// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/plait.hpp"

#include "sph/program/settings.hpp"

namespace sph {

/// `plait-sph run` on the ranks of a runtime.
/// Throws: `app::AgreedError` for trouble that all ranks met alike.
void run_sph(plait::Runtime& runtime, const RunSettings& settings);

/// `plait-sph init`: writes how a problem begins.
void write_initial_condition(const InitSettings& settings);

}  // namespace sph
