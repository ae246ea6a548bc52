// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

namespace plait::net::detail {

/// A communicator of our own, a duplicate of another, on which failed calls return.
class OwnCommunicator {
 public:
  enum class Use { packets, bulk };

  /// Collective over `parent`, which is borrowed for the call.
  OwnCommunicator(MPI_Comm parent, Use use);
  OwnCommunicator(const OwnCommunicator&) = delete;
  OwnCommunicator& operator=(const OwnCommunicator&) = delete;
  OwnCommunicator(OwnCommunicator&&) = delete;
  OwnCommunicator& operator=(OwnCommunicator&&) = delete;
  /// Frees it, unless it was abandoned or MPI is finalised.
  ~OwnCommunicator();

  [[nodiscard]] MPI_Comm get() const noexcept { return communicator_; }
  /// Leaves it to the end of the process: MPI calls freeing collective, and a peer may be gone.
  void abandon() noexcept { communicator_ = MPI_COMM_NULL; }

 private:
  MPI_Comm communicator_ = MPI_COMM_NULL;
};

}  // namespace plait::net::detail
