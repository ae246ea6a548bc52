// SPDX-License-Identifier: Apache-2.0
#include "plait/fft/layout.hpp"

#include <algorithm>

namespace plait::fft {

IndexBox common_part(const IndexBox& one, const IndexBox& other) noexcept {
  IndexBox common;
  for (int axis = 0; axis < 3; ++axis) {
    common.low[axis] = std::max(one.low[axis], other.low[axis]);
    common.high[axis] = std::max(common.low[axis], std::min(one.high[axis], other.high[axis]));
  }
  return common;
}

}  // namespace plait::fft
