// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include <mpi.h>

#include "plait/replay/backend/backend.hpp"
#include "plait/replay/part.hpp"

namespace plait::replay {

/// The backend called "mpi", "plait", "rma" or "ofi", for the ranks of `world`. Collective; keeps neither. The pointer
/// owns all that the backend stands on.
/// Throws: `Error` with `bad_argument` for one that cannot serve here, with the reason, on all ranks.
[[nodiscard]] std::shared_ptr<Backend> make_backend(MPI_Comm world, const std::string& name, const Part& part);

}  // namespace plait::replay
