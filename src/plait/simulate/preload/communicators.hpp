// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include <mpi.h>

#include "plait/base/id.hpp"

namespace plait::simulate {

/// A communicator: one object for all its members.
class SimulatedCommunicator {
 public:
  /// `number`: which no other communicator has. `members`: ranks of the world, by rank of the communicator.
  SimulatedCommunicator(std::uint32_t number, std::vector<Rank> members);

  [[nodiscard]] std::uint32_t number() const noexcept { return number_; }
  [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(members_.size()); }
  [[nodiscard]] const std::vector<Rank>& members() const noexcept { return members_; }
  /// Throws: `Error` with `bad_argument` when there is no such member.
  [[nodiscard]] Rank member(int rank) const;
  /// The rank that a member has here; nothing for others.
  [[nodiscard]] std::optional<std::uint32_t> rank_of(Rank member) const;
  /// A number for the next collective operation of the member with this rank: members call the same in equal order.
  [[nodiscard]] std::uint32_t next_operation(std::uint32_t rank) { return operations_.at(rank)++; }

  /// Notes that a member frees it; true when it was the last.
  [[nodiscard]] bool release() noexcept { return ++released_ == members_.size(); }

 private:
  std::uint32_t number_;
  std::vector<Rank> members_;
  std::unordered_map<std::uint32_t, std::uint32_t> ranks_;
  std::vector<std::uint32_t> operations_;
  std::size_t released_ = 0;
};

/// All communicators and groups of a simulation. Memory: a communicator takes 20 bytes a member, once for all ranks.
class SimulatedCommunicators {
 public:
  explicit SimulatedCommunicators(std::uint32_t world_size);

  /// Throws: `Error` with `bad_argument` when `caller` has no such communicator.
  [[nodiscard]] SimulatedCommunicator& find(MPI_Comm handle, Rank caller);
  /// The communicator of these members which the `operation` of `parent` creates; `part` distinguishes several. Each
  /// member calls.
  [[nodiscard]] MPI_Comm create(std::uint32_t parent,
                                std::uint32_t operation,
                                std::uint32_t part,
                                const std::vector<Rank>& members);
  void free(MPI_Comm handle, Rank caller);

  [[nodiscard]] MPI_Group create_group(std::vector<Rank> members);
  /// Throws: `Error` with `bad_argument` for a group that does not exist.
  [[nodiscard]] const std::vector<Rank>& group(MPI_Group handle) const;
  void free_group(MPI_Group handle);

 private:
  struct Origin {
    std::uint32_t parent;
    std::uint32_t operation;
    std::uint32_t part;
    auto operator<=>(const Origin&) const = default;
  };

  std::uint32_t count_ = 0;
  SimulatedCommunicator world_;
  std::map<Rank, SimulatedCommunicator> alone_;
  std::unordered_map<std::uint32_t, std::unique_ptr<SimulatedCommunicator>> created_;
  /// What members that call later get, with the number of calls that are missing.
  std::map<Origin, std::pair<std::uint32_t, std::size_t>> expected_;
  std::unordered_map<std::uint32_t, std::vector<Rank>> groups_;
  std::uint32_t group_count_ = 0;
};

}  // namespace plait::simulate
