// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace plait::net {

/// Whether all ranks are on this host, by the variables of Open MPI's and MPICH's launchers, SLURM's or Flux's. False
/// where a launcher sets none of them. Threads: any, while no thread changes the environment; also before MPI_Init.
[[nodiscard]] bool is_launched_on_one_host() noexcept;

/// Asks UCX to send messages below 64 KiB at once, unless the user has set UCX_RNDV_THRESH. Bulk data between hosts
/// travels in messages of 60 KiB: UCX would make a rendezvous of them, for which the other rank has to poll.
///
/// Has an effect before MPI_Init only. Threads: one, while no other uses the environment.
void request_eager_messages_of_ucx() noexcept;

}  // namespace plait::net
