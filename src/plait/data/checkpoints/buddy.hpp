// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/base/id.hpp"
#include "plait/comm/collectives/group.hpp"
#include "plait/data/checkpoints/checkpoint.hpp"

namespace plait::comm {
class Endpoint;
}

namespace plait::data {

/// The copies in one rank's memory: plain data, which may outlive the network that they came by.
struct BuddyMemory {
  struct Copy {
    std::uint64_t generation = 0;  ///< Larger is newer.
    Rank rank;                     ///< Whose elements these are.
    std::uint32_t rank_count = 0;  ///< Of the run that made it.
    Bytes state;
  };
  std::vector<Copy> copies;
};

/// Copies of each rank's elements in the memory of two ranks: its own and its partner's, half of all ranks away.
///
/// A new generation is made beside the old one, which goes when all ranks have the new one: whatever happens while
/// copying, one generation is whole. All calls are collective, between phases, by the thread that may use the endpoint;
/// they wait. Memory: two packed copies of the elements, four while copying. What that is worth under MPI, where the
/// loss of one rank ends all, is described in [checkpoints](../../../docs/how-to/checkpoints.md#copies-in-memory).
class BuddyCopies {
 public:
  explicit BuddyCopies(comm::Endpoint& endpoint);

  /// Makes a generation of what every rank gives. Cost: the packed elements are sent once and copied twice.
  void copy(const Checkpoint& checkpoint);

  /// What this rank gave for the newest generation that is whole, fetched from its partner where it is not here.
  /// Throws: as `recover`.
  [[nodiscard]] Checkpoint roll_back();

  /// The copies here, to be kept when the run has failed, or thrown away.
  [[nodiscard]] BuddyMemory& memory() noexcept { return memory_; }
  /// The rank that has the copy of this one.
  [[nodiscard]] Rank partner() const noexcept;

 private:
  comm::Group group_;
  BuddyMemory memory_;
  std::uint64_t generation_ = 0;
};

/// Collective over a new set of ranks, each with the copies that remain to it, perhaps none: the newest generation
/// of which all parts are somewhere. When there are as many ranks as then, each gets the part of the rank of its
/// number; else each part goes to one of the ranks that have it, evenly.
///
/// Throws: on all ranks, `Error` with `bad_input` when there is no such generation: a rank and its partner are both
/// lost.
[[nodiscard]] Checkpoint recover(comm::Endpoint& endpoint, const BuddyMemory& memory);

}  // namespace plait::data
