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

/// The numbers in physical space.
enum class Kind : std::uint8_t { real, complex };

/// `row` consecutive ranks are a row, which exchanges along axes 1 and 2; `column` ranks, one of each row, exchange
/// along axes 0 and 1: rank = place in the row + `row` * place in the column. A row of 1 makes slabs. Both 0: the plan
/// chooses.
struct TransformGrid {
  std::uint32_t row = 0;
  std::uint32_t column = 0;

  friend bool operator==(const TransformGrid&, const TransformGrid&) = default;
};

/// How long FFTW searches for a fast algorithm: not at all, seconds, minutes.
enum class Effort : std::uint8_t { estimate, measure, patient };

/// Settings of a plan. All but `nodes` and `more` must be the same on all ranks.
struct PlanOptions {
  Kind kind = Kind::real;
  /// By default, slabs if all ranks are on one node and there are planes for all; else rows that fit a node best.
  TransformGrid grid;
  Effort effort = Effort::measure;
  /// The messages of each block when tasks send it. 0: the plan chooses by size.
  std::uint32_t pieces = 0;
  /// The exchange of `run`: one of `variants()` or of `more`; "automatic": the fastest, see `choose`.
  std::string variant = "PLT";
  /// Further variants, such as those of `mpi::variants`.
  std::vector<Variant> more;
  /// The node of each rank, as any numbers. Empty: the host names decide.
  std::vector<std::uint32_t> nodes;
};

/// How transforms of one size run on these ranks: the distribution of the array, the 1-D transforms, the exchanges.
/// Immutable; any number of executions use it at once, and own all that is in flight.
///
/// The transform is F(k) = sum over x of f(x) exp(-2 pi i (k0 x0 / N0 + k1 x1 / N1 + k2 x2 / N2)) forward, with the
/// other sign backward; neither is normalised. Real arrays keep k2 = 0 ... N2 / 2 only.
/// In physical space axis 2 is whole on each rank, axis 1 is divided over its row, axis 0 over its column. In spectral
/// space axis 0 is whole, axis 1 is divided over the column, axis 2 over the row. Any lengths and numbers of ranks
/// work; some ranks may have empty boxes. Threads: any, after construction. Must outlive its executions.
class Plan {
 public:
  /// Collective: all ranks of `endpoint` create the same plans in the same order. Borrows both, which must outlive it.
  ///
  /// Throws: `Error` with `bad_argument` on all ranks, for invalid lengths or options and if ranks request different
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
  [[nodiscard]] const ArrayLayout& physical() const noexcept;
  /// This rank's part in spectral space: complex numbers.
  [[nodiscard]] const ArrayLayout& spectral() const noexcept;
  [[nodiscard]] TransformGrid grid() const noexcept;
  /// N0 * N1 * N2: the factor of a forward and a backward transform.
  [[nodiscard]] Index point_count() const noexcept;
  [[nodiscard]] Kind kind() const noexcept;
  [[nodiscard]] const std::string& variant() const noexcept;
  [[nodiscard]] std::uint32_t pieces() const noexcept;

  /// Bytes of the buffers of one execution on this rank, in the direction that needs more.
  [[nodiscard]] std::size_t execution_bytes() const noexcept;
  /// Bytes that this rank sends in one transform, and those that leave the node.
  [[nodiscard]] std::uint64_t bytes_sent() const noexcept;
  [[nodiscard]] std::uint64_t bytes_leaving_node() const noexcept;
  /// Several lines: the grid, the nodes, the variant, bytes and memory of a transform on this rank.
  [[nodiscard]] std::string describe() const;

  /// `execution_bytes` on `rank` of `ranks` of a plan that need not exist. Uses kind, grid, variant and nodes of the
  /// options; without nodes, all ranks are on one. Throws: as the constructor, for the grid.
  [[nodiscard]] static std::size_t bytes_needed(const std::array<Index, 3>& lengths,
                                                const PlanOptions& options,
                                                std::uint32_t ranks,
                                                Rank rank);

 private:
  friend class Execution;
  std::shared_ptr<detail::PlanState> state_;
};

}  // namespace plait::fft
