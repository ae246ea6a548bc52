// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "plait/base/id.hpp"
#include "plait/comm/status.hpp"

namespace plait::comm {

class Endpoint;

namespace detail {
class Call;
}

/// The bit that sets the messages of collectives apart from the program's own; a program's communicator ids are below.
inline constexpr std::uint32_t collective_bit = 0x8000'0000U;

/// Some ranks of the run in an order of their own, this one among them: who takes part in a collective operation.
///
/// Making one costs no message. All members make it with the same ranks in the same order, and with the same `comm`,
/// below which its collectives talk; groups that share two ranks or more need different ones, also when they are the
/// same ranks. A program's own messages with the same `comm` are not disturbed. All members call the collectives of a
/// group in the same order, without waiting for one before they call the next; of different groups in any order.
/// Copies are the same group. Threads: one group by one thread at a time, different groups by any.
class Group {
 public:
  /// All ranks of the run. Throws: as below, for `comm`.
  Group(Endpoint& endpoint, CommId comm);
  /// Throws: `Error` with `bad_argument` when a member is no rank of the run or is named twice, when this rank is none
  /// of them, or when `comm` is not below `collective_bit`. Cost: linear in the ranks of the run.
  Group(Endpoint& endpoint, std::vector<Rank> members, CommId comm);

  [[nodiscard]] Endpoint& endpoint() const noexcept;
  [[nodiscard]] std::size_t size() const noexcept;
  /// This rank's place in the group, counted from 0.
  [[nodiscard]] std::size_t self() const noexcept;
  /// Expects: `member` is below `size()`.
  [[nodiscard]] Rank rank(std::size_t member) const;
  [[nodiscard]] CommId comm() const noexcept;

  /// Says on which node each member is, by any numbers; all members say the same, before the first collective. Without,
  /// every member is taken to be on a node of its own. Throws: `Error` with `bad_argument` when there is not one number
  /// a member.
  void set_nodes(std::vector<std::uint32_t> nodes);
  /// Of each member; empty when nobody has said.
  [[nodiscard]] const std::vector<std::uint32_t>& nodes() const noexcept;

 private:
  friend class detail::Call;
  struct State;

  std::shared_ptr<State> state_;
};

/// Ranks in rows and columns: rank = row * columns + column.
struct RankGrid {
  std::uint32_t rows = 1;
  std::uint32_t columns = 1;
};

/// The ranks of this rank's row, by column. Rows may share a `comm`, rows and columns not.
/// Throws: `Error` with `bad_argument` when the grid has not as many places as the run has ranks.
[[nodiscard]] Group row_group(Endpoint& endpoint, const RankGrid& grid, CommId comm);
/// The ranks of this rank's column, by row; otherwise as `row_group`.
[[nodiscard]] Group column_group(Endpoint& endpoint, const RankGrid& grid, CommId comm);

}  // namespace plait::comm
