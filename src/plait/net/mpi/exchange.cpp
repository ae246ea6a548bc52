// SPDX-License-Identifier: Apache-2.0
#include "plait/net/mpi/exchange.hpp"

#include <climits>
#include <cstdint>
#include <vector>

#include "plait/base/error.hpp"
#include "plait/net/mpi/detail/call.hpp"
#include "plait/trace/preloaded_recorder.hpp"

namespace plait::net {

Exchange mpi_exchange(MPI_Comm communicator) {
  return [communicator](std::span<const std::byte> mine) {
    const trace::OwnCalls own;
    int rank_count = 0;
    detail::check_mpi(MPI_Comm_size(communicator, &rank_count), "MPI_Comm_size");
    require(mine.size() <= INT_MAX, "a rank gives 2 GiB or more to an exchange");
    const int size = static_cast<int>(mine.size());
    std::vector<int> sizes(static_cast<std::size_t>(rank_count));
    detail::check_mpi(MPI_Allgather(&size, 1, MPI_INT, sizes.data(), 1, MPI_INT, communicator), "MPI_Allgather");
    std::vector<int> begins;
    std::int64_t total = 0;
    for (const int one : sizes) {
      begins.push_back(static_cast<int>(total));
      total += one;
      require(total <= INT_MAX, "all ranks together give 2 GiB or more to an exchange");  // throws on all ranks
    }
    Bytes all(static_cast<std::size_t>(total));
    detail::check_mpi(
        MPI_Allgatherv(mine.data(), size, MPI_BYTE, all.data(), sizes.data(), begins.data(), MPI_BYTE, communicator),
        "MPI_Allgatherv");
    std::vector<Bytes> by_rank;
    for (std::size_t rank = 0; rank < sizes.size(); ++rank) {
      const std::byte* const begin = all.data() + begins[rank];
      by_rank.emplace_back(begin, begin + sizes[rank]);
    }
    return by_rank;
  };
}

}  // namespace plait::net
