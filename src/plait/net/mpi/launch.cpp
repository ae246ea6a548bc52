// SPDX-License-Identifier: Apache-2.0
#include "plait/net/mpi/launch.hpp"

#include <cstdlib>
#include <cstring>

namespace plait::net {

namespace {

bool are_set_and_equal(const char* variable, const char* other) noexcept {
  const char* const one = std::getenv(variable);
  const char* const two = std::getenv(other);
  return one != nullptr && two != nullptr && std::strcmp(one, two) == 0;
}

}  // namespace

bool is_launched_on_one_host() noexcept {
  return are_set_and_equal("OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_SIZE") ||
         are_set_and_equal("MPI_LOCALNRANKS", "PMI_SIZE");
}

void request_eager_messages_of_ucx() noexcept {
  ::setenv("UCX_RNDV_THRESH", "64k", 0);
}

}  // namespace plait::net
