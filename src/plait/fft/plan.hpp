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

/// The type of numbers in physical space.
enum class Kind : std::uint8_t { real, complex };

/// The grid of ranks: rank = place in the row + `row` * place in the column. A row has `row` consecutive ranks, which
/// exchange along axes 1 and 2. A column has one rank of each row; they exchange along axes 0 and 1. A row of 1 makes
/// slabs. If both are 0, the plan chooses.
struct TransformGrid {
  std::uint32_t row = 0;
  std::uint32_t column = 0;

  friend bool operator==(const TransformGrid&, const TransformGrid&) = default;
};

/// The effort of FFTW's search for a fast algorithm: none, seconds, minutes.
enum class Effort : std::uint8_t { estimate, measure, patient };

/// The options of a plan. All except `nodes` and `more` must be equal on all ranks.
struct PlanOptions {
  Kind kind = Kind::real;
  /// By default, slabs if all ranks are on one node and have planes; else rows of ranks on one node, as far as
  /// possible.
  TransformGrid grid;
  Effort effort = Effort::measure;
  /// The number of messages for each block, if tasks exchange. 0: the plan chooses by size.
  std::uint32_t pieces = 0;
  /// The name of the exchange of `run`: one of `variants()` or of `more`; "automatic" is the fastest (`choose`).
  std::string variant = "PLT";
  /// Additional variants, such as those of `mpi::variants`.
  std::vector<Variant> more;
  /// A number of the node of each rank. Empty: nodes are identified by host names.
  std::vector<std::uint32_t> nodes;
};

/// The plan of transforms of one size on these ranks: the distribution of the array, the 1-D transforms, the exchanges.
/// Immutable; any number of executions may use it at once.
///
/// The transform is F(k) = sum over x of f(x) exp(-2 pi i (k0 x0 / N0 + k1 x1 / N1 + k2 x2 / N2)) forward, with the
/// other sign backward; neither is normalised. Real arrays keep k2 = 0 ... N2 / 2 only.
/// In physical space axis 2 is whole on each rank, axis 1 is divided over its row, axis 0 over its column. In spectral
/// space axis 0 is whole, axis 1 is divided over the column, axis 2 over the row. Any lengths and numbers of ranks
/// work; some ranks may have empty boxes. Threads: any, after construction. Must outlive its executions.
class Plan {
 public:
  /// Collective: all ranks of `endpoint` create the same plans in the same order. Borrows `endpoint` and `scheduler`.
  ///
  /// Throws: `Error` with `bad_argument` on all ranks, for invalid lengths or options and if ranks request different
  /// plans. Cost: FFTW's planning of five 1-D transforms, by `options.effort`; one small exchange with all ranks.
  Plan(comm::Endpoint& endpoint,
       task::Scheduler& scheduler,
       std::array<Index, 3> lengths,
       const PlanOptions& options = {});
  Plan(Plan&&) noexcept = default;
  Plan& operator=(Plan&&) noexcept = default;

  /// This rank's part in physical space, of doubles or complex numbers.
  [[nodiscard]] const ArrayLayout& physical() const noexcept;
  /// This rank's part in spectral space, of complex numbers.
  [[nodiscard]] const ArrayLayout& spectral() const noexcept;
  [[nodiscard]] TransformGrid grid() const noexcept;
  /// N0 * N1 * N2, by which a forward and a backward transform multiply.
  [[nodiscard]] Index point_count() const noexcept;
  [[nodiscard]] Kind kind() const noexcept;
  [[nodiscard]] const std::string& variant() const noexcept;
  [[nodiscard]] std::uint32_t pieces() const noexcept;

  /// The bytes of the buffers of one execution on this rank, in the direction that needs more.
  [[nodiscard]] std::size_t execution_bytes() const noexcept;
  /// The bytes that this rank sends in one transform, and those to other nodes.
  [[nodiscard]] std::uint64_t bytes_sent() const noexcept;
  [[nodiscard]] std::uint64_t bytes_leaving_node() const noexcept;
  /// Describes, in several lines, the grid, the nodes, the variant, and the bytes of a transform on this rank.
  [[nodiscard]] std::string describe() const;

  /// The `execution_bytes` of a hypothetical plan on `rank` of `ranks`. Uses kind, grid, variant and nodes of the
  /// options; if `nodes` is empty, all ranks are on one node. Throws: as the constructor.
  [[nodiscard]] static std::size_t bytes_needed(const std::array<Index, 3>& lengths,
                                                const PlanOptions& options,
                                                std::uint32_t ranks,
                                                Rank rank);

 private:
  friend class Execution;
  std::shared_ptr<detail::PlanState> state_;
};

}  // namespace plait::fft
