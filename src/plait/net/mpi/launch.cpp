// SPDX-License-Identifier: Apache-2.0
#include "plait/net/mpi/launch.hpp"

#include <cstdlib>
#include <cstring>
#include <utility>

namespace plait::net {

bool is_launched_on_one_host() noexcept {
  // Those of mpirun and Hydra first: a job step in which they run has its own.
  for (const auto& [here, all] :
       {std::pair{"OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_SIZE"}, std::pair{"MPI_LOCALNRANKS", "PMI_SIZE"}}) {
    const char* const one = std::getenv(here);
    const char* const other = std::getenv(all);
    if (one != nullptr && other != nullptr) {
      return std::strcmp(one, other) == 0;
    }
  }
  for (const char* const hosts : {"SLURM_STEP_NUM_NODES", "FLUX_JOB_NNODES"}) {
    if (const char* const count = std::getenv(hosts)) {
      return std::strcmp(count, "1") == 0;
    }
  }
  return false;
}

void request_eager_messages_of_ucx() noexcept {
  ::setenv("UCX_RNDV_THRESH", "64k", 0);
}

}  // namespace plait::net
