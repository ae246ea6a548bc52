// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "plait/net/driver.hpp"
#include "plait/runtime/network_options.hpp"

#ifdef PLAIT_WITH_MPI
#include <mpi.h>
#endif

namespace plait {

#ifdef PLAIT_WITH_MPI
/// The network among the ranks of `communicator`, which is borrowed for the call; its name tells what is used.
///
/// Collective. Ranks are on one host if MPI says that they can share memory, and their `NetworkOptions::host` is equal.
/// Where all are on one host, no MPI driver is made, which would have to be polled. When shared memory cannot be had,
/// `automatic` takes `mpi` for all, and rank 0 says why on stderr.
/// Throws: on all ranks, `Error` with `bad_argument` when what was chosen cannot serve all ranks, or was not built;
/// else what the drivers throw.
[[nodiscard]] std::unique_ptr<net::Driver> make_network(MPI_Comm communicator, const NetworkOptions& options);
#endif

}  // namespace plait
