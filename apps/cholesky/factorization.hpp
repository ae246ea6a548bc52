// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "plait/plait.hpp"

#include "cholesky/layout.hpp"
#include "cholesky/residual.hpp"
#include "cholesky/tile_flow.hpp"

namespace cholesky {

/// Settings of a factorisation.
struct FactorizationOptions {
  Factors factors = Factors::symmetric;
  plait::Fanout fanout = plait::Fanout::multicast;
  plait::Submission submission = plait::Submission::own_tasks;
  /// Called after each task of this rank, by the worker that ran it, with the number of tasks done; may be empty.
  std::function<void(std::uint64_t)> on_task;
};

/// A matrix in tiles on all ranks of a runtime, and its factorisation as a flow of tasks on tiles. Collective; threads
/// as `plait::Flow`. Borrows `runtime` and `layout`.
class Factorization {
 public:
  Factorization(plait::Runtime& runtime, const Layout& layout, FactorizationOptions options);

  /// This rank's tiles: fill them before `run`; they hold the factors after it.
  [[nodiscard]] std::span<const PlacedTile> tiles() const noexcept { return local_.tiles(); }

  /// Factors. Returns when all ranks' tasks have ended.
  /// Throws, on all ranks: `plait::Error` with `bad_input` that names the leading minor that is not positive, or the
  /// pivot that is 0; and as `plait::Flow::wait`.
  void run();

  [[nodiscard]] const TileWork& work() const noexcept { return work_; }
  [[nodiscard]] plait::FlowStatistics statistics() const { return flow_.statistics(); }

 private:
  const FactorizationOptions options_;
  LocalTiles local_;
  TileWork work_;
  plait::Flow flow_;
  TileFlow tiles_;
};

/// Floating-point operations of a factorisation, as usually counted: n^3 / 3 or 2 n^3 / 3.
[[nodiscard]] double flops_of(Factors factors, std::size_t size);

/// Tasks that `self` executes.
[[nodiscard]] std::uint64_t task_count(const Layout& layout, Factors factors, plait::Rank self);

}  // namespace cholesky
