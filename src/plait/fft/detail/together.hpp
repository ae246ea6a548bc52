// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "plait/fft/detail/transform.hpp"

namespace plait::fft::detail {

/// Carries out transforms, at least one, by their plan's variant. Collective.
void run_together(const std::vector<std::shared_ptr<Transform>>& transforms);

}  // namespace plait::fft::detail
