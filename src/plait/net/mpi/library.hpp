// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace plait::net {

/// The MPI library of this process with its version, as "Open MPI 4.1.4"; of libraries that are not known, the first
/// line of their description. Threads: any, also before MPI_Init and after MPI_Finalize.
[[nodiscard]] std::string mpi_library_name();

}  // namespace plait::net
