// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <mpi.h>

namespace plait::accelerate {

/// What a status has of a message.
struct Outcome {
  int source = MPI_ANY_SOURCE;
  int tag = MPI_ANY_TAG;
  std::size_t bytes = 0;
  bool is_cancelled = false;
  int error = MPI_SUCCESS;
};

/// Fills `status`, unless the program wants none. Its error is left alone, as the standard demands for single
/// operations.
inline void fill(MPI_Status* status, const Outcome& outcome) noexcept {
  if (status == MPI_STATUS_IGNORE) {
    return;
  }
  status->MPI_SOURCE = outcome.source;
  status->MPI_TAG = outcome.tag;
  PMPI_Status_set_elements_x(status, MPI_BYTE, static_cast<MPI_Count>(outcome.bytes));
  PMPI_Status_set_cancelled(status, outcome.is_cancelled ? 1 : 0);
}

/// Fills `status` as of a call that had nothing to wait for, unless the program wants none.
inline void fill_empty(MPI_Status* status) noexcept {
  fill(status, {});
  if (status != MPI_STATUS_IGNORE) {
    status->MPI_ERROR = MPI_SUCCESS;
  }
}

}  // namespace plait::accelerate
