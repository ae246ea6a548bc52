// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include "plait/net/exchange.hpp"

namespace plait::net {

/// Returns an exchange among the ranks of `communicator`, which must outlive it.
///
/// Each call is collective, makes two MPI calls and gathers less than 2 GiB. It throws `Error` with `network` when MPI
/// fails.
[[nodiscard]] Exchange mpi_exchange(MPI_Comm communicator);

}  // namespace plait::net
