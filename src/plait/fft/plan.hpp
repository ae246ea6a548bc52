// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plait/comm/endpoint.hpp"
#include "plait/fft/exchange.hpp"
#include "plait/fft/layout.hpp"
#include "plait/task/scheduler.hpp"

namespace plait::fft {

namespace detail {
struct PlanState;
}

/// What stands in physical space.
enum class Kind : std::uint8_t { real, complex };

/// `row` consecutive ranks are a row, which exchanges along axes 1 and 2; `column` ranks, one of each row, exchange
/// along axes 0 and 1: rank = place in the row + `row` * place in the column. Slabs are a row of 1. Both 0: chosen.
struct RankGrid {
  std::uint32_t row = 0;
  std::uint32_t column = 0;

  friend bool operator==(const RankGrid&, const RankGrid&) = default;
};

/// How long FFTW looks for a fast way when a plan is made: not at all, seconds, minutes.
enum class Effort : std::uint8_t { estimate, measure, patient };

/// What a plan may be told. All but `nodes` and `more` must be the same on all ranks.
struct PlanOptions {
  Kind kind = Kind::real;
  /// Chosen: slabs when all ranks are on one node and there are planes for all; else a row is what fits a node best.
  RankGrid grid;
  Effort effort = Effort::measure;
  /// Into how many messages each block is cut, when tasks move it. 0: chosen by size.
  std::uint32_t pieces = 0;
  /// How `run` exchanges: one of `variants()` or of `more`; "automatic": what is fastest here, see `choose`.
  std::string variant = "PLT";
  /// To choose from besides: those that need more than plait, as MPI's.
  std::vector<Variant> more;
  /// The node of each rank, by any numbers. Empty: asked of the system.
  std::vector<std::uint32_t> nodes;
};

/// How transforms of one size are carried out on these ranks: which part of the array is where, the 1-D transforms, the
/// exchanges. Immutable; any number of executions use it at once, and it owns nothing of those under way.
///
/// The transform is F(k) = sum over x of f(x) exp(-2 pi i (k0 x0 / N0 + k1 x1 / N1 + k2 x2 / N2)) forward, with the
/// other sign backward, neither divided by anything. Of real arrays only k2 = 0 ... N2 / 2 are kept.
/// In physical space axis 2 is whole on each rank, axis 1 divided over its row, axis 0 over its column; in spectral
/// space axis 0 is whole, axis 1 divided over the column, axis 2 over the row. Any lengths and numbers of ranks will
/// do; ranks for which nothing is left take part with empty boxes. Threads: any, once made. Must outlive its
/// executions.
class Plan {
 public:
  /// Collective: all ranks of `endpoint` make the same plans in the same order. Borrows both, which must outlive it.
  ///
  /// Throws: `Error` with `bad_argument` on all ranks, when lengths or options make no sense or ranks ask for different
  /// plans. Cost: FFTW's planning of five 1-D transforms, by `options.effort`; one small exchange with all ranks.
  Plan(comm::Endpoint& endpoint,
       task::Scheduler& scheduler,
       std::array<Index, 3> lengths,
       const PlanOptions& options = {});
  Plan(Plan&&) noexcept;
  Plan& operator=(Plan&&) noexcept;
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan();

  /// This rank's part in physical space: doubles, or complex numbers, by the kind.
  [[nodiscard]] const Layout& physical() const noexcept;
  /// This rank's part in spectral space: complex numbers.
  [[nodiscard]] const Layout& spectral() const noexcept;
  [[nodiscard]] RankGrid grid() const noexcept;
  /// N0 * N1 * N2: what a transform there and back multiplies by.
  [[nodiscard]] Index point_count() const noexcept;
  [[nodiscard]] Kind kind() const noexcept;
  [[nodiscard]] const std::string& variant() const noexcept;
  [[nodiscard]] std::uint32_t pieces() const noexcept;

  /// Memory that one execution takes on this rank for its buffers, the larger of the two directions.
  [[nodiscard]] std::size_t execution_bytes() const noexcept;
  /// What this rank sends in one transform, and what of it leaves the node.
  [[nodiscard]] std::uint64_t bytes_sent() const noexcept;
  [[nodiscard]] std::uint64_t bytes_leaving_node() const noexcept;
  /// Several lines for people: the grid, who shares nodes, the variant, bytes and memory of a transform on this rank.
  [[nodiscard]] std::string describe() const;

  /// What `execution_bytes` will be on `rank` of `ranks`, before anything is made. Of options only kind, grid, variant
  /// and nodes count; without nodes, all ranks are taken to be on one. Throws: as the constructor, for the grid.
  [[nodiscard]] static std::size_t bytes_needed(const std::array<Index, 3>& lengths,
                                                const PlanOptions& options,
                                                std::uint32_t ranks,
                                                Rank rank);

 private:
  friend class Execution;
  std::shared_ptr<detail::PlanState> state_;
};

}  // namespace plait::fft
