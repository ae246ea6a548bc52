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

/// 1-D transforms along axis 0 in one direction, strip by strip; the last strip may be narrower.
struct FarLines {
  Index width = 0;
  StripLines full;
  StripLines tail;

  FarLines() = default;
  /// Of `sequences`, whose elements stand `stride` apart.
  FarLines(const StripLines::Shape& all, Direction direction, Effort effort)
      : width{strip_width(all.length)},
        full{{all.length, all.width >= width ? width : 0, all.stride}, direction, effort},
        tail{{all.length, all.width % width, all.stride}, direction, effort} {}

  void run(Index strip, Complex* data) const { (strip == width ? full : tail).run(data); }
};

/// The 1-D transforms of one direction.
struct Lines {
  StripLines along_axis_1;  ///< All sequences of a plane.
  FarLines in_array;        ///< Along axis 0, where the elements stand planes apart,
  FarLines in_strip;        ///< and where they have been brought together.
};

/// What a worker transforms in; stays in its cache.
struct Scratch {
  Memory plane;  ///< One plane with axis 1 or 2 whole, or a strip of sequences along axis 0.
  Memory spare;  ///< One plane in physical space.
};

/// What a plan consists of, and what its executions share.
struct PlanState {
  PlanState(comm::Endpoint& its_endpoint, task::Scheduler& its_scheduler)
      : endpoint{its_endpoint}, scheduler{its_scheduler} {}

  /// The member of the row, or of the column, in the run.
  [[nodiscard]] Rank row_rank(std::uint32_t member) const {
    return Rank{geometry.in_column * geometry.grid.row + member};
  }
  [[nodiscard]] Rank column_rank(std::uint32_t member) const {
    return Rank{member * geometry.grid.row + geometry.in_row};
  }
  [[nodiscard]] bool runs_as_tasks() const noexcept { return !variant.make; }

  comm::Endpoint& endpoint;
  task::Scheduler& scheduler;
  Geometry geometry;
  Layout physical;
  Layout spectral;
  std::vector<std::uint32_t> nodes;  ///< Of all ranks.
  Variant variant;
  std::uint32_t pieces = 1;
  std::string measured;             ///< Of the variant "automatic": what led to it, for people.
  comm::CommId messages;            ///< Of tasks.
  std::vector<comm::Group> groups;  ///< The row, the column.
  RowLines rows;                    ///< All rows of one plane, both directions.
  std::array<Lines, 2> lines;       ///< By direction.
  std::vector<Scratch> scratch;     ///< By worker.
  std::uint32_t executions = 0;     ///< Made so far: numbers them alike on all ranks.
};

/// Complex numbers in buffers of one execution.
[[nodiscard]] Index buffered(const Geometry& geometry, Direction direction, bool as_tasks);

}  // namespace plait::fft::detail
