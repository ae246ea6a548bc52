// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/backend/mpi/make_backend.hpp"

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait::replay {

std::shared_ptr<Backend> make_backend(MPI_Comm world, const std::string& name, const RankPart& part) {
  if (name == "mpi") {
    return make_mpi_backend(world, part);
  }
  if (name == "plait") {
    return make_plait_backend(world, part);
  }
  if (name == "rma") {
    return make_one_sided_backend(world, part, make_window_memory);
  }
  if (name == "ofi") {
    return make_one_sided_backend(world, part, make_ofi_memory);
  }
  throw Error{ErrorCode::bad_argument, fmt::format("there is no backend {}; choose mpi, plait, rma or ofi", name)};
}

}  // namespace plait::replay
