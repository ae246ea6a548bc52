// SPDX-License-Identifier: Apache-2.0
#include "plait/files/hdf5/mpi/mpi_ranks.hpp"

#include "plait/net/mpi/exchange.hpp"
#include "plait/net/sim/preloaded_simulation.hpp"

namespace plait::files {

std::uint32_t MpiRanks::self() const noexcept {
  int self = 0;
  MPI_Comm_rank(communicator_, &self);
  return static_cast<std::uint32_t>(self);
}

std::uint32_t MpiRanks::count() const noexcept {
  int count = 1;
  MPI_Comm_size(communicator_, &count);
  return static_cast<std::uint32_t>(count);
}

net::Exchange MpiRanks::exchange() {
  return net::mpi_exchange(communicator_);
}

Hdf5Handle MpiRanks::parallel_access() const {
#ifdef H5_HAVE_PARALLEL
  if (count() > 1 && net::preloaded_simulation() == nullptr) {  // simulated ranks share one HDF5, call after call
    Hdf5Handle access{H5Pcreate(H5P_FILE_ACCESS), H5Pclose};
    H5Pset_fapl_mpio(access.id(), communicator_, MPI_INFO_NULL);
    return access;
  }
#endif
  return {};
}

}  // namespace plait::files
