// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include "plait/net/exchange.hpp"

namespace plait::net {

/// An exchange among the ranks of `communicator`, which is borrowed for as long as the exchange is used.
///
/// Each call is collective: two MPI calls, and as much memory as all ranks bring, less than 2 GiB.
/// Throws: each call, `Error` with `network` when MPI fails.
[[nodiscard]] Exchange mpi_exchange(MPI_Comm communicator);

}  // namespace plait::net
