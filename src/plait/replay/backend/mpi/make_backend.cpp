// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/backend/mpi/make_backend.hpp"

#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/replay/backend/mpi/mpi_backend.hpp"

namespace plait::replay {
std::shared_ptr<Backend> make_backend(MPI_Comm world, const std::string& name, const Part& part) {
  if (name == "mpi") {
    return std::make_shared<MpiBackend>(world, part);
  }
  throw Error{ErrorCode::bad_argument, fmt::format("there is no backend {}; choose mpi, plait, rma or ofi", name)};
}

}  // namespace plait::replay
