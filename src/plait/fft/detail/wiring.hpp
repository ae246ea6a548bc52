// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "plait/fft/detail/geometry.hpp"
#include "plait/fft/detail/lines.hpp"
#include "plait/fft/detail/runs.hpp"
#include "plait/fft/exchange.hpp"
#include "plait/fft/execution.hpp"

namespace plait::fft::detail {

/// The places of the blocks of one execution's exchanges, by member; `plane_stride` is that of the member's blocks.
///
/// This rank's own block does not move in an exchange. Forward, the blocks of the column are planes of the spectral
/// array after the exchange. Backward, for tasks, they are planes of one array before it.
struct Wiring {
  Memory memory;
  std::unique_ptr<Exchange> row;  ///< Empty if tasks exchange, or the row is this rank alone.
  std::unique_ptr<Exchange> column;
  // "Before" and "after" as in a forward transform; `count`: of axis 1, but of axis 0 in `after_column`.
  std::vector<Segment> before_row;  ///< Empty if the row is this rank alone.
  std::vector<Segment> after_row;
  std::vector<Segment> before_column;
  std::vector<Segment> after_column;
};

/// For tasks: all blocks that move are in `memory`, but for those in the spectral array.
[[nodiscard]] Wiring wire(const Geometry& geometry, Direction direction, Complex* spectral);
/// For exchanges, which own the blocks that move.
[[nodiscard]] Wiring wire(const Geometry& geometry,
                          Direction direction,
                          Complex* spectral,
                          std::unique_ptr<Exchange> row,
                          std::unique_ptr<Exchange> column);

}  // namespace plait::fft::detail
