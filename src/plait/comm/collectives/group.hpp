// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <vector>

#include "plait/base/error.hpp"
#include "plait/base/id.hpp"
#include "plait/comm/claimed_comms.hpp"
#include "plait/comm/collectives/group_members.hpp"
#include "plait/comm/status.hpp"

namespace plait::comm {

namespace detail {
class Call;
}

/// The members of a group by node, and the place of this member.
struct GroupNodes {
  std::vector<std::vector<std::size_t>> members;  ///< Of each node, rising; nodes in the order of their first members.
  std::size_t own = 0;                            ///< The node of this member.
};

/// An ordered set of ranks, this one included: the members of collective operations.
///
/// Construction sends no message. All members construct it with the same ranks in the same order and the same `comm`.
/// Groups that share two or more ranks need different ones. Messages of the program with the same `comm` are separate.
/// All members call the collectives of a group in the same order; they need not wait for one before they call the next.
/// If the endpoint knows nodes, collectives pass the network between two of them as rarely as they can. Copies are the
/// same group. Memory: constant for ranks at equal distances, such as all ranks, rows and columns, on one node or with
/// a node each; else linear in the members. Threads: one at a time for each group.
class Group {
 public:
  /// All ranks of the run, with a claimed communicator: all ranks construct such groups in the same order, as for
  /// `Endpoint::claim_comms`.
  explicit Group(Endpoint& endpoint, const std::source_location& where = std::source_location::current());
  /// All ranks of the run. Throws: as below, for `comm`.
  Group(Endpoint& endpoint, CommId comm);
  /// Throws: `Error` with `bad_argument` when a member is no rank of the run or occurs twice, when this rank is no
  /// member, or when `comm` is not below `collective_bit`. Cost: linear in the ranks of the run.
  Group(Endpoint& endpoint, std::vector<Rank> members, CommId comm);
  /// As above, with a claimed communicator. Every rank of the run constructs one such group at this point; the groups
  /// are disjoint.
  Group(Endpoint& endpoint,
        std::vector<Rank> members,
        const std::source_location& where = std::source_location::current());

  [[nodiscard]] Endpoint& endpoint() const noexcept { return *state_->endpoint; }
  [[nodiscard]] std::size_t size() const noexcept { return state_->members.size(); }
  /// This rank's place in the group, counted from 0.
  [[nodiscard]] std::size_t self() const noexcept { return state_->self; }
  /// Expects: `member` is below `size()`.
  [[nodiscard]] Rank rank(std::size_t member) const {
    expect(member < size(), "a group's members are counted from 0");
    return state_->members[member];
  }
  [[nodiscard]] CommId comm() const noexcept { return state_->comm; }
  /// The members by node; null unless there are several nodes, and one of them has several members.
  [[nodiscard]] const GroupNodes* nodes() const noexcept { return state_->nodes ? &*state_->nodes : nullptr; }

 private:
  friend class detail::Call;

  /// `members` are different ranks of the run, and `self` is this rank's place among them.
  Group(Endpoint& endpoint, GroupMembers members, std::size_t self, CommId comm);

  /// What the copies of a group, and its collectives in flight, share.
  struct State {
    Endpoint* endpoint = nullptr;
    CommId comm;
    ClaimedComms claimed;  ///< Has `comm`, unless the program chose it.
    GroupMembers members;
    std::size_t self = 0;
    std::optional<GroupNodes> nodes;
    std::uint64_t collective_count = 0;
  };

  std::shared_ptr<State> state_;
};

/// Ranks in rows and columns: rank = row * columns + column.
struct GroupGrid {
  std::uint32_t rows = 1;
  std::uint32_t columns = 1;
};

/// The ranks of this rank's row, by column. All rows may have one `comm`, but not rows and columns; without, one is
/// claimed. Throws: `Error` with `bad_argument` when the size of the grid is not the number of ranks.
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
