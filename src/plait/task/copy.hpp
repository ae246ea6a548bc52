// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "plait/comm/layout.hpp"
#include "plait/task/scheduler.hpp"

namespace plait::task {

/// How a large copy may be divided. `plait bench membw` shows what is right for a machine.
struct CopyLimits {
  /// Cores that work on one copy at once, the asking one included: few fill the memory's bandwidth.
  std::uint32_t core_count_max = 2;
  /// Below this a copy is over before another core has come to help.
  std::size_t divided_bytes_min = std::size_t{1} << 20U;
  /// What a core takes at once: large against the price of taking, small against what a late helper should still find.
  std::size_t piece_bytes = std::size_t{256} << 10U;
};

/// How many cores are worth using: the fewest that reach 90 % of the best bandwidth. `bandwidths[n - 1]` is that of n
/// cores, in any unit. Expects: there is one.
[[nodiscard]] std::uint32_t cores_worth_using(std::span<const double> bandwidths);

/// Without a measurement: a quarter of the cores, at least 2 where there are 2 (a quarter is what the authors of SWIFT
/// use after their measurements: more brings little, and may harm).
[[nodiscard]] CopyLimits default_copy_limits(std::uint32_t core_count) noexcept;

/// Measures copies by 1 to `core_count` threads at once, beyond what one core's caches hold. Not while anything else
/// computes. Throws what starting threads throws. Cost: `2 * bytes` of memory; 4 copies of `bytes` for each count, some
/// 10 ms each.
[[nodiscard]] CopyLimits measure_copy_limits(std::uint32_t core_count, std::size_t bytes = std::size_t{64} << 20U);

/// Copies much data from within a task, together with workers that have nothing to do; alone when all are busy.
///
/// Each call returns when nothing is left to begin; helpers may still copy their last piece. What is after the task
/// (or `TaskContext::then`) waits for them; memory must stay until then. Each returns how many helpers it has asked,
/// each a task of the given kind that is spawned by the calling one. Source and target must not overlap, and have
/// the same size. Threads: any; one copier may serve all tasks.
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
  std::uint32_t divide(TaskContext& context, std::size_t bytes, Move move) const;

  TaskKind kind_;
  CopyLimits limits_;
};

}  // namespace plait::task
