// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include <mpi.h>

#include "plait/record/communicators.hpp"
#include "plait/record/mpi_library.hpp"
#include "plait/trace/meta.hpp"

namespace plait::record {

/// What runs, for meta.json. Collective over `world`: gathers the hosts of all ranks; what is returned is of rank 0.
[[nodiscard]] trace::Meta describe_run(const Mpi& mpi, MPI_Comm world, const KnownCommunicators& communicators);

/// Writes meta.json on rank 0. A file that cannot be written costs one sentence on stderr.
void write_run(const std::filesystem::path& folder, const trace::Meta& meta, const KnownCommunicators& ranks) noexcept;

}  // namespace plait::record
