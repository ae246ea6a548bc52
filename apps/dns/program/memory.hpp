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

/// Sums what all ranks of each node need, and compares with `limit`, or if 0, with what the system has available.
/// Collective; the same on all ranks.
[[nodiscard]] NodeMemory compare_memory(MPI_Comm communicator, std::uint64_t needed_by_this_rank, std::uint64_t limit);

/// "3.21 GiB"
[[nodiscard]] std::string describe_bytes(std::uint64_t bytes);

}  // namespace dns
