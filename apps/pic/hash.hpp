// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "plait/base/random.hpp"

#include "support/hash.hpp"

namespace pic {

using app::mixed;

/// A generator for each (seed, cell or particle, step), so that particles do not depend on the rank that creates them.
[[nodiscard]] inline plait::Random random_of(std::uint64_t seed, std::uint64_t which, std::uint64_t step = 0) {
  return plait::Random{mixed(mixed(mixed(seed) ^ which) ^ step)};
}

}  // namespace pic
