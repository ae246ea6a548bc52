// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "plait/base/random.hpp"

namespace pic {

/// Bits that depend on all bits of `value`, well mixed.
[[nodiscard]] inline std::uint64_t mixed(std::uint64_t value) {
  return plait::Random{value}();
}

/// Random numbers that depend on what they are for and nothing else: one generator for each (seed, cell or particle,
/// step), so that particles do not depend on who makes them.
[[nodiscard]] inline plait::Random random_of(std::uint64_t seed, std::uint64_t which, std::uint64_t step = 0) {
  return plait::Random{mixed(mixed(mixed(seed) ^ which) ^ step)};
}

}  // namespace pic
