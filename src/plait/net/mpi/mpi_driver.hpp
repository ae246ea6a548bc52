// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <mpi.h>

#include "plait/net/driver.hpp"
#include "plait/net/transfer_options.hpp"

namespace plait::net {

using MpiOptions = TransferOptions;

/// Creates a driver over any MPI, on two duplicates of `communicator`; its name is like "mpi (Open MPI 4.1.4)".
///
/// Packets arrive through a ring of receives posted for any source. MPI matches them in the order of posting, so a poll
/// tests the oldest only. Packets are read where they arrived; bulk data uses its slot as tag. Cost of a poll: an MPI
/// test of one receive, and of the sends and bulk transfers if there are any.
///
/// Collective over `communicator`, which is borrowed for the call. MPI must be initialised. Destroy the driver on all
/// ranks when nothing is in flight: it abandons what still is after at most a second, and waits for no peer. It calls
/// no MPI after MPI_Finalize. Threads: one at a time (MPI_THREAD_SERIALIZED), or always the same (MPI_THREAD_FUNNELED).
/// Throws: `Error` with `bad_argument` for invalid options; as the driver, with `network` and MPI's message when an MPI
/// call fails.
[[nodiscard]] std::unique_ptr<Driver> make_mpi_driver(MPI_Comm communicator, const MpiOptions& options = {});

}  // namespace plait::net
