// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <mpi.h>

#include "plait/replay/backend/backend.hpp"
#include "plait/replay/part.hpp"

namespace plait::replay {

/// A communicator of a schedule, created in MPI.
struct MpiMembers {
  MPI_Comm communicator = MPI_COMM_NULL;
  std::vector<int> rank_in;  ///< By rank of the run; -1 if not a member.
};

/// Counts and displacements of a vector collective, which MPI reads until it is complete.
struct MpiCounts {
  std::vector<int> given;
  std::vector<int> given_places;
  std::vector<int> got;
  std::vector<int> got_places;
};

/// The communicators of a schedule, created in MPI, and collectives on them. Reductions are sums of doubles if all
/// sizes are multiples of 8 bytes, else bitwise. Threads: as MPI was initialised; one at a time for each communicator.
class MpiCollectives {
 public:
  /// Collective over the members of each communicator, in the order of their numbers. Throws: `Error` with `network`.
  MpiCollectives(MPI_Comm world, const RankPart& part);
  MpiCollectives(const MpiCollectives&) = delete;
  MpiCollectives& operator=(const MpiCollectives&) = delete;
  /// Collective, as the constructor.
  ~MpiCollectives();

  /// A communicator of the schedule; that of all ranks for an unknown number.
  [[nodiscard]] const MpiMembers& members(std::uint32_t communicator) const;

  /// Starts a collective. An operation may be started again when it is complete. Throws: `Error` with `bad_argument`
  /// for more than 2 GiB at once.
  void begin(OperationId operation, const CollectiveCall& call, MPI_Request& request);
  /// Returns when it is complete. Throws as `begin`.
  void call(const CollectiveCall& call) const;

  /// "MPI_Allreduce", "MPI_Iallreduce".
  [[nodiscard]] static std::string call_name(Collective what, Calling calling);

 private:
  std::map<std::uint32_t, MpiMembers> communicators_;
  std::mutex counts_mutex_;
  std::map<OperationId, MpiCounts> counts_;  ///< Of started operations; addresses are stable.
};

}  // namespace plait::replay
