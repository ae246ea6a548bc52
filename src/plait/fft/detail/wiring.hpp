// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "plait/fft/detail/geometry.hpp"
#include "plait/fft/detail/lines.hpp"
#include "plait/fft/exchange.hpp"
#include "plait/fft/execution.hpp"

namespace plait::fft::detail {

/// A block of an exchange, or a part of an array: consecutive planes.
struct Segment {
  Index count = 0;          ///< Elements of each sequence.
  Complex* base = nullptr;  ///< Its first plane.
  Index plane_stride = 0;   ///< From a plane of axis 0 to the next.
};

/// The memory of the blocks of one execution's exchanges, by member.
///
/// An exchange does not move this rank's own block. Forward, the blocks of the column are planes of the spectral array
/// after the exchange. Backward, for tasks, they are planes of one array before it.
struct Wiring {
  Memory memory;
  std::unique_ptr<Exchange> row;  ///< Empty if tasks exchange, or the row is this rank alone.
  std::unique_ptr<Exchange> column;
  // Before and after an exchange of a forward transform. `count` is along axis 1, in `after_column` along axis 0.
  std::vector<Segment> before_row;  ///< Empty if the row is this rank alone.
  std::vector<Segment> after_row;
  std::vector<Segment> before_column;
  std::vector<Segment> after_column;
};

/// Places the blocks that move: in the exchanges; without these, for tasks, in `memory` and in the spectral array.
[[nodiscard]] Wiring wire(const Geometry& geometry,
                          Direction direction,
                          Complex* spectral,
                          std::unique_ptr<Exchange> row = {},
                          std::unique_ptr<Exchange> column = {});

}  // namespace plait::fft::detail
