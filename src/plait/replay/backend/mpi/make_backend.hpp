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

/// The backend called "mpi", "plait", "rma" or "ofi", for the ranks of `world`. Collective; keeps neither. The pointer
/// owns all that the backend is on.
/// Throws: `Error` with `bad_argument` for one that cannot serve here, with the reason, on all ranks.
[[nodiscard]] std::shared_ptr<Backend> make_backend(MPI_Comm world, const std::string& name, const RankPart& part);

// Each by itself: collective over `world`, which is borrowed for the call, as is `part`. Throw: `Error` with `network`.

/// MPI's own non-blocking messages, tests and collectives.
[[nodiscard]] std::shared_ptr<Backend> make_mpi_backend(MPI_Comm world, const RankPart& part);

/// plait's endpoint, on the network that the environment asks for.
[[nodiscard]] std::shared_ptr<Backend> make_plait_backend(MPI_Comm world, const RankPart& part);

/// Makes so many bytes of memory on this rank; collective. `world` is borrowed for as long as the memory is there.
using MakeMemory = std::function<std::unique_ptr<RemoteMemory>(MPI_Comm world, std::size_t bytes)>;

/// Writes into the receivers' memory. The ranks of a host may take `host_bytes_max` together; 0: half of the host's
/// memory. Throws: on all ranks `Error` with `out_of_memory` when the schedule needs more, `bad_input` when two ranks
/// do not agree about what they exchange; and what `make` throws.
[[nodiscard]] std::shared_ptr<Backend> make_one_sided_backend(MPI_Comm world,
                                                              const RankPart& part,
                                                              const MakeMemory& make,
                                                              std::uint64_t host_bytes_max = 0);

/// A window of MPI. Throws: on all ranks `Error` with `network`, with what to do, where MPI can create none.
[[nodiscard]] std::unique_ptr<RemoteMemory> make_window_memory(MPI_Comm world, std::size_t bytes);

/// Memory that is registered with libfabric. Throws: on all ranks `Error` with `bad_argument` when plait is built
/// without it, or no provider is there.
[[nodiscard]] std::unique_ptr<RemoteMemory> make_ofi_memory(MPI_Comm world, std::size_t bytes);

}  // namespace plait::replay
