// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "plait/net/driver.hpp"
#include "plait/runtime/options.hpp"

#ifdef PLAIT_WITH_MPI
#include <mpi.h>
#endif

namespace plait {

#ifdef PLAIT_WITH_MPI
/// A network that is selected by its name. A new one is a driver in src/plait/net, a function that creates it from the
/// options, and a line in network.cpp.
struct NetworkEntry {
  std::string_view name;  ///< The value of PLAIT_NETWORK.
  std::unique_ptr<net::Driver> (*make)(MPI_Comm communicator, const NetworkOptions& options);
};
/// Returns all networks. "automatic", the first, uses shared memory within hosts and MPI between them.
[[nodiscard]] std::span<const NetworkEntry> network_entries() noexcept;

/// Creates the driver for the ranks of `communicator`, which is borrowed for the call. `name()` of the driver lists
/// what it uses.
///
/// Collective. Ranks are on one host if MPI reports that they can share memory, and their `NetworkOptions::host` is
/// equal. If all are on one host, no MPI driver is created, which would have to be polled. If shared memory is not
/// available, "automatic" uses MPI for all ranks, and rank 0 writes the reason to stderr.
/// Throws: on all ranks, `Error` with `bad_argument` if `table` has no such network, the chosen driver cannot serve all
/// ranks or was not built, or `NetworkOptions::ofi_address` is not a list of different addresses, as many on each rank;
/// else what the drivers throw.
[[nodiscard]] std::unique_ptr<net::Driver> make_network(MPI_Comm communicator,
                                                        const NetworkOptions& options,
                                                        std::span<const NetworkEntry> table = network_entries());
#endif

}  // namespace plait
