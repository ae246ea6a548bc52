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

/// The copies in one rank's memory: plain data, which may outlive the network.
struct BuddyMemory {
  struct Copy {
    std::uint64_t generation = 0;  ///< Larger is newer.
    Rank rank;                     ///< The owner of the elements.
    std::uint32_t rank_count = 0;  ///< Of the run that created it.
    Bytes state;
  };
  std::vector<Copy> copies;
};

/// Keeps copies of each rank's elements on two ranks: itself and its partner, half of all ranks away.
///
/// The old generation of copies is deleted when all ranks have the new one, so that one is always complete. All calls
/// are collective and wait; call them between phases, on the thread that may use the endpoint. Memory: two packed
/// copies of the elements, four while copying. [Checkpoints](../../../../docs/how-to/checkpoints.md#copies-in-memory)
/// describes the use under MPI, where the loss of one rank ends all.
class BuddyCopies {
 public:
  /// `generation`: the newest that exists already, the same on all ranks; those of this object are newer.
  explicit BuddyCopies(comm::Endpoint& endpoint, std::uint64_t generation = 0);

  /// Creates a generation. Cost: the packed elements are sent once and copied twice.
  void copy(const Checkpoint& checkpoint);

  /// Returns this rank's checkpoint of the newest complete generation, from its partner if this rank lacks it. Throws:
  /// as `recover`.
  [[nodiscard]] Checkpoint roll_back();

  /// The copies of this rank, to keep when the run has failed, or to delete.
  [[nodiscard]] BuddyMemory& memory() noexcept { return memory_; }
  /// The rank with the copies of this one.
  [[nodiscard]] Rank partner() const noexcept;

 private:
  comm::Group group_;
  BuddyMemory memory_;
  std::uint64_t generation_;
};

/// Collective over a new set of ranks, each with its remaining copies, if any: returns this rank's part of the newest
/// generation of which all parts exist. With the same number of ranks, each gets the part of the rank with its number;
/// else each part goes to one of the ranks that have it, evenly.
///
/// Throws: on all ranks, `Error` with `bad_input` when there is no such generation, as a rank and its partner are lost.
[[nodiscard]] Checkpoint recover(comm::Endpoint& endpoint, const BuddyMemory& memory);

}  // namespace plait::data
