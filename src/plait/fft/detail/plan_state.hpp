// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "plait/comm/collectives/group.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/fft/detail/geometry.hpp"
#include "plait/fft/detail/lines.hpp"
#include "plait/fft/exchange.hpp"
#include "plait/fft/layout.hpp"
#include "plait/fft/plan.hpp"
#include "plait/task/scheduler.hpp"

namespace plait::fft::detail {

/// 1-D transforms along axis 0 in one direction, by batches; the last batch may be narrower.
struct FarLines {
  Index width = 0;
  StripLines full;
  StripLines tail;

  FarLines() = default;
  /// For `all.width` sequences.
  FarLines(const StripLines::Shape& all, Direction direction, Effort effort)
      : width{strip_width(all.length)},
        full{{all.length, all.width >= width ? width : 0, all.stride}, direction, effort},
        tail{{all.length, all.width % width, all.stride}, direction, effort} {}

  void run(Index strip, Complex* data) const { (strip == width ? full : tail).run(data); }
};

/// The 1-D transforms of one direction.
struct Lines {
  StripLines along_axis_1;  ///< All sequences of a plane.
  FarLines in_array;        ///< Along axis 0, in the array.
  FarLines in_strip;        ///< Along axis 0, in a gathered batch.
};

/// The scratch memory of a worker.
struct Scratch {
  Memory plane;  ///< One plane with axis 1 or 2 whole, or a batch of sequences along axis 0.
  Memory spare;  ///< One plane in physical space.
};

/// The state of a plan, which its executions share.
struct PlanState {
  PlanState(comm::Endpoint& its_endpoint, task::Scheduler& its_scheduler)
      : endpoint{its_endpoint}, scheduler{its_scheduler}, everyone{its_endpoint} {}

  /// The rank of a member of the row, or of the column.
  [[nodiscard]] Rank row_rank(std::uint32_t member) const {
    return Rank{geometry.in_column * geometry.grid.row + member};
  }
  [[nodiscard]] Rank column_rank(std::uint32_t member) const {
    return Rank{member * geometry.grid.row + geometry.in_row};
  }
  [[nodiscard]] bool runs_as_tasks() const noexcept { return !variant.make; }

  comm::Endpoint& endpoint;
  task::Scheduler& scheduler;
  comm::Group everyone;  ///< Also for the messages of tasks.
  Geometry geometry;
  ArrayLayout physical;
  ArrayLayout spectral;
  std::vector<std::uint32_t> nodes;  ///< Of all ranks.
  Variant variant;
  std::uint32_t pieces = 1;
  std::string measured;             ///< The measurements of the variant "automatic", as text.
  std::vector<comm::Group> groups;  ///< The row, the column.
  RowLines rows;                    ///< All rows of one plane, both directions.
  std::array<Lines, 2> lines;       ///< By direction.
  std::vector<Scratch> scratch;     ///< By worker.
  std::uint32_t executions = 0;     ///< Created so far: their numbers, equal on all ranks.
};

/// The bytes of the buffers of one execution, in the direction that needs more.
[[nodiscard]] std::size_t buffer_bytes(const Geometry& geometry, bool as_tasks);

}  // namespace plait::fft::detail
