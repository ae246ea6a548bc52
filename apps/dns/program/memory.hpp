// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <mpi.h>

namespace dns {

/// Bytes that a run needs on the node where least is left, and what that node has.
struct NodeMemory {
  std::uint64_t needed = 0;
  std::uint64_t available = 0;
  int ranks = 1;  ///< On that node.
  std::string host;
};

/// Bytes of memory that this process could still take: what the system and its control group have, as the system says
/// it. 2^63 where it says nothing.
[[nodiscard]] std::uint64_t available_memory();

/// Adds up what all ranks of each node need, and compares. `limit`: of a node, instead of what the system says; 0:
/// none. Collective; the same on all ranks.
[[nodiscard]] NodeMemory compare_memory(MPI_Comm communicator, std::uint64_t needed_by_this_rank, std::uint64_t limit);

/// "3.21 GiB"
[[nodiscard]] std::string describe_bytes(std::uint64_t bytes);

}  // namespace dns
