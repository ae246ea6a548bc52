// SPDX-License-Identifier: Apache-2.0
#include "support/mpi/host_copies.hpp"

#include <mpi.h>

#include "support/agree.hpp"

namespace app {

std::unique_ptr<plait::data::BuddyFiles> open_host_copies(plait::Runtime& runtime,
                                                          const std::filesystem::path& folder,
                                                          Existing existing,
                                                          std::string_view remedy) {
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  int self = 0;
  int sharers = 1;
  MPI_Comm_rank(host, &self);
  MPI_Comm_size(host, &sharers);
  MPI_Comm_free(&host);
  agree(runtime, [&] {
    if (self == 0) {
      prepare_output(
          {.path = folder, .option = "--copy-folder", .suffix = ".copy", .existing = existing, .remedy = remedy});
    }
  });
  return as_agreed([&] {
    return std::make_unique<plait::data::BuddyFiles>(
        runtime.messages(),
        plait::data::BuddyFolder{
            .path = folder, .self = static_cast<std::uint32_t>(self), .sharers = static_cast<std::uint32_t>(sharers)});
  });
}

}  // namespace app
