// SPDX-License-Identifier: Apache-2.0
#include "plait/files/hdf5/mpi/mpi_ranks.hpp"

#include <exception>

#include "plait/net/mpi/detail/call.hpp"
#include "plait/net/mpi/exchange.hpp"
#include "plait/net/sim/preloaded_simulation.hpp"
#include "plait/trace/preloaded_recorder.hpp"

namespace plait::files {

namespace {

constexpr int turn_tag = 1;

/// What one rank passes to the next one.
enum class Turn : unsigned char { yours, cancelled };

Turn receive_turn(int from, MPI_Comm communicator) {
  const trace::OwnCalls own;
  auto turn = Turn::yours;
  net::detail::check_mpi(MPI_Recv(&turn, 1, MPI_BYTE, from, turn_tag, communicator, MPI_STATUS_IGNORE),
                         "MPI_Recv (turn)");
  return turn;
}

void pass_turn(Turn turn, int to, MPI_Comm communicator) {
  const trace::OwnCalls own;
  net::detail::check_mpi(MPI_Send(&turn, 1, MPI_BYTE, to, turn_tag, communicator), "MPI_Send (turn)");
}

}  // namespace

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

void MpiRanks::in_turn(const std::function<void()>& turn) {
  const int rank = static_cast<int>(self());
  Turn state = rank > 0 ? receive_turn(rank - 1, communicator_) : Turn::yours;
  std::exception_ptr failure;
  try {
    if (state == Turn::yours) {
      turn();
    }
  } catch (...) {
    failure = std::current_exception();
    state = Turn::cancelled;
  }
  if (self() + 1 < count()) {
    pass_turn(state, rank + 1, communicator_);
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
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
