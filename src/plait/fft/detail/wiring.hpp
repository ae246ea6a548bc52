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

/// Where the blocks of one execution's exchanges stand, by member; a member's `plane_stride` is that of its blocks.
///
/// This rank's own block is the same before and after an exchange, as it does not move. Forward, blocks of the column
/// stand after the exchange in the spectral array itself, whose planes they are; backward, for tasks, they stand before
/// it as planes of one array.
struct Wiring {
  Memory memory;
  std::unique_ptr<Exchange> row;  ///< Nothing when tasks exchange, or nobody else is in the row.
  std::unique_ptr<Exchange> column;
  // "Before" and "after" as in a forward transform; `count`: of axis 1, but of axis 0 in `after_column`.
  std::vector<Segment> before_row;  ///< Nothing when the row is this rank alone.
  std::vector<Segment> after_row;
  std::vector<Segment> before_column;
  std::vector<Segment> after_column;
};

/// For tasks: all blocks that move stand in memory of its own, but for those in the spectral array.
[[nodiscard]] Wiring wire(const Geometry& geometry, Direction direction, Complex* spectral);
/// For exchanges: blocks that move stand where these say.
[[nodiscard]] Wiring wire(const Geometry& geometry,
                          Direction direction,
                          Complex* spectral,
                          std::unique_ptr<Exchange> row,
                          std::unique_ptr<Exchange> column);

}  // namespace plait::fft::detail
