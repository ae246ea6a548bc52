// SPDX-License-Identifier: Apache-2.0
#include "plait/net/mpi/detail/communicator.hpp"

#include "plait/net/mpi/detail/call.hpp"

namespace plait::net::detail {

OwnCommunicator::OwnCommunicator(MPI_Comm parent, Use use) {
  MPI_Info hints = MPI_INFO_NULL;
  check_mpi(MPI_Info_create(&hints), "MPI_Info_create");
  if (use == Use::bulk) {
    // Not mpi_assert_allow_overtaking: the chunks of one transfer have the same tag.
    MPI_Info_set(hints, "mpi_assert_no_any_source", "true");
    MPI_Info_set(hints, "mpi_assert_no_any_tag", "true");
    MPI_Info_set(hints, "mpi_assert_exact_length", "true");
  }
  const int code = MPI_Comm_dup_with_info(parent, hints, &communicator_);
  MPI_Info_free(&hints);
  check_mpi(code, "MPI_Comm_dup_with_info");
  check_mpi(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

OwnCommunicator::~OwnCommunicator() {
  if (communicator_ != MPI_COMM_NULL && is_mpi_usable()) {
    MPI_Comm_free(&communicator_);
  }
}

}  // namespace plait::net::detail
