// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "plait/comm/layout.hpp"
#include "plait/task/scheduler.hpp"

namespace plait::task {

/// How a large copy is divided. `plait bench membw` measures good values for a machine.
struct CopyLimits {
  /// Cores that work on one copy at once, the calling one included. Few cores saturate the memory bandwidth.
  std::uint32_t core_count_max = 2;
  /// A smaller copy is not divided: it ends before another core starts.
  std::size_t divided_bytes_min = std::size_t{1} << 20U;
  /// What a core takes at once: large beside the cost of taking, small enough to leave work for a late helper.
  std::size_t piece_bytes = std::size_t{256} << 10U;
};

/// Returns the fewest cores that reach 90 % of the best bandwidth. `bandwidths[n - 1]` is that of n cores, in any unit.
/// Expects: there is one.
[[nodiscard]] std::uint32_t cores_worth_using(std::span<const double> bandwidths);

/// Measures copies by 1 to `core_count` threads, of sizes beyond the caches of one core. Nothing else may compute
/// meanwhile. Cost: `2 * bytes` of memory; 4 copies of `bytes` for each count, some 10 ms each.
[[nodiscard]] CopyLimits measure_copy_limits(std::uint32_t core_count, std::size_t bytes = std::size_t{64} << 20U);

/// Copies large data from within a task, with the help of idle workers if there are any.
///
/// Each call spawns a task of the given kind for each helper, and returns their number when no piece is left to begin.
/// Helpers may still copy their last piece: memory must stay until the successors of the task (or `TaskContext::then`)
/// start. Source and target have the same size and do not overlap. Threads: any; one copier may serve all tasks.
class Copier {
 public:
  explicit Copier(TaskKind kind, const CopyLimits& limits = {}) : kind_{kind}, limits_{limits} {}

  std::uint32_t copy(TaskContext& context, std::span<const std::byte> from, std::span<std::byte> to) const;
  /// Packs non-contiguous data.
  std::uint32_t gather(TaskContext& context, const comm::Layout& from, std::span<std::byte> to) const;
  /// Unpacks to non-contiguous data.
  std::uint32_t scatter(TaskContext& context, std::span<const std::byte> from, const comm::Layout& to) const;

 private:
  template <class Move>
  std::uint32_t divide(TaskContext& context, std::size_t from_bytes, std::size_t bytes, Move move) const;

  TaskKind kind_;
  CopyLimits limits_;
};

}  // namespace plait::task
