// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <mpi.h>

#include "plait/replay/backend/backend.hpp"
#include "plait/replay/backend/remote_memory.hpp"
#include "plait/replay/part.hpp"

namespace plait::replay {

/// Creates the backend "mpi", "plait", "rma" or "ofi" for the ranks of `world`. Collective; borrows both for the call.
/// The pointer owns all that the backend uses.
/// Throws: on all ranks, `Error` with `bad_argument` for a backend that is unknown or not available, with the reason.
[[nodiscard]] std::shared_ptr<Backend> make_backend(MPI_Comm world, const std::string& name, const RankPart& part);

// The single backends: collective over `world`, which is borrowed for the call, as is `part`. Throw: `Error` with
// `network`.

/// MPI's non-blocking messages, tests and collectives.
[[nodiscard]] std::shared_ptr<Backend> make_mpi_backend(MPI_Comm world, const RankPart& part);

/// plait's endpoint, on the network that the environment selects.
[[nodiscard]] std::shared_ptr<Backend> make_plait_backend(MPI_Comm world, const RankPart& part);

/// Allocates memory of so many bytes on this rank. Collective. `world` is borrowed for the life of the memory.
using MakeMemory = std::function<std::unique_ptr<RemoteMemory>(MPI_Comm world, std::size_t bytes)>;

/// Writes into the receivers' memory. The ranks of a host may use `host_bytes_max` in all; 0: half of the host's
/// memory. Throws: on all ranks, `Error` with `out_of_memory` if the schedule needs more, `bad_input` if two ranks do
/// not agree on their messages; what `make` throws.
[[nodiscard]] std::shared_ptr<Backend> make_one_sided_backend(MPI_Comm world,
                                                              const RankPart& part,
                                                              const MakeMemory& make,
                                                              std::uint64_t host_bytes_max = 0);

/// A window of MPI. Throws: on all ranks, `Error` with `network` if MPI cannot create it.
[[nodiscard]] std::unique_ptr<RemoteMemory> make_window_memory(MPI_Comm world, std::size_t bytes);

/// Memory registered with libfabric. Throws: on all ranks, `Error` with `bad_argument` if plait was built without
/// libfabric, or there is no provider.
[[nodiscard]] std::unique_ptr<RemoteMemory> make_ofi_memory(MPI_Comm world, std::size_t bytes);

}  // namespace plait::replay
