// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/plait.hpp"

#include "cholesky/program/settings.hpp"

namespace cholesky {

/// Factors the matrix that the settings name on all ranks of the runtime, and prints what that took. Collective.
/// Returns the program's exit status: 1 when the residual is too large.
/// Throws: `app::AgreedError` on every rank for trouble with input and output, `plait::Error` for the rest.
[[nodiscard]] int run(plait::Runtime& runtime, const Settings& settings);

}  // namespace cholesky
