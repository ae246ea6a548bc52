// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <vector>

#include "plait/base/id.hpp"
#include "plait/comm/status.hpp"

namespace plait::comm {

class Endpoint;

namespace detail {
class Call;
}

/// Some ranks of the run in an order of their own, this one among them: the members of collective operations.
///
/// Its construction sends no message. All members construct it with the same ranks in the same order, and with the same
/// `comm`, from which the communicator of its collectives follows; groups that share two ranks or more need different
/// ones, also when they are the same ranks. The program's own messages with the same `comm` are not affected. All
/// members call the collectives of a group in the same order, without waiting for one before they call the next; of
/// different groups in any order. Copies are the same group. Threads: one group by one thread at a time, different
/// groups by any.
class Group {
 public:
  /// All ranks of the run, with a communicator that is claimed for this group and its copies. See
  /// `Endpoint::claim_comms`: all ranks construct such groups in the same order.
  explicit Group(Endpoint& endpoint, const std::source_location& where = std::source_location::current());
  /// All ranks of the run. Throws: as below, for `comm`.
  Group(Endpoint& endpoint, CommId comm);
  /// Throws: `Error` with `bad_argument` when a member is no rank of the run or is named twice, when this rank is none
  /// of them, or when `comm` is not below `collective_bit`. Cost: linear in the ranks of the run.
  Group(Endpoint& endpoint, std::vector<Rank> members, CommId comm);
  /// As above, with a claimed communicator. Every rank of the run constructs such a group at this point, with members
  /// of its own; no rank is a member of two.
  Group(Endpoint& endpoint,
        std::vector<Rank> members,
        const std::source_location& where = std::source_location::current());

  [[nodiscard]] Endpoint& endpoint() const noexcept;
  [[nodiscard]] std::size_t size() const noexcept;
  /// This rank's place in the group, counted from 0.
  [[nodiscard]] std::size_t self() const noexcept;
  /// Expects: `member` is below `size()`.
  [[nodiscard]] Rank rank(std::size_t member) const;
  [[nodiscard]] CommId comm() const noexcept;

 private:
  friend class detail::Call;
  struct State;

  std::shared_ptr<State> state_;
};

/// Ranks in rows and columns: rank = row * columns + column.
struct GroupGrid {
  std::uint32_t rows = 1;
  std::uint32_t columns = 1;
};

/// The ranks of this rank's row, by column. Rows may share a `comm`, rows and columns not; without, one is claimed.
/// Throws: `Error` with `bad_argument` when the size of the grid is not the number of ranks.
[[nodiscard]] Group row_group(Endpoint& endpoint, const GroupGrid& grid, CommId comm);
[[nodiscard]] Group row_group(Endpoint& endpoint,
                              const GroupGrid& grid,
                              const std::source_location& where = std::source_location::current());
/// The ranks of this rank's column, by row; otherwise as `row_group`.
[[nodiscard]] Group column_group(Endpoint& endpoint, const GroupGrid& grid, CommId comm);
[[nodiscard]] Group column_group(Endpoint& endpoint,
                                 const GroupGrid& grid,
                                 const std::source_location& where = std::source_location::current());

}  // namespace plait::comm
