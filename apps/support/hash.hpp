// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "plait/base/random.hpp"

namespace app {

/// A hash of `value`.
[[nodiscard]] inline std::uint64_t mixed(std::uint64_t value) {
  return plait::Random{value}();
}

}  // namespace app
