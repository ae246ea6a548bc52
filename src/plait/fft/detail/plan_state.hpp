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

/// 1-D transforms along axis 0 or 1 in one direction, by batches; the last of a row of batches may be narrower.
struct AxisLines {
  BatchLines full;
  BatchLines tail;
  Index tail_width = 0;

  AxisLines() = default;
  AxisLines(Index length, Index sequences, Direction direction, Effort effort)
      : full{length, sequences >= batch_width ? batch_width : 0, direction, effort},
        tail{length, sequences % batch_width, direction, effort},
        tail_width{sequences % batch_width} {}

  void run(Index width, Complex* batch) const { (width == batch_width ? full : tail).run(batch); }
};

/// What a worker transforms in; stays in its cache.
struct Scratch {
  Memory batch;  ///< The sequences of one batch along axis 0 or 1.
  Memory plane;  ///< Rows of one plane.
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
  std::string measured;               ///< Of the variant "automatic": what led to it, for people.
  comm::CommId messages;              ///< Of tasks.
  std::vector<comm::Group> groups;    ///< The row, the column.
  RowLines rows;                      ///< All rows of one plane.
  std::array<AxisLines, 2> along[2];  ///< [axis][direction]
  std::vector<Scratch> scratch;       ///< By worker.
  std::uint32_t executions = 0;       ///< Made so far: numbers them alike on all ranks.
};

/// Complex numbers in buffers of one execution.
[[nodiscard]] Index buffered(const Geometry& geometry, Direction direction, bool as_tasks);

}  // namespace plait::fft::detail
