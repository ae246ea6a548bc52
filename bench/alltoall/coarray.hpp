// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "alltoall/harness.hpp"
#include "alltoall/options.hpp"

namespace alltoall {

/// What coarray Fortran takes for the same exchange and the same work, by a program of its own, coarray.f90.
struct CoarrayOutcome {
  SizeMeasured measured;  ///< MPI's row of `beside`, and the coarrays' after it.
  std::string left_out;   ///< Why there are none, else empty.
};

/// Starts that program on this machine, as a job of `ranks` images, and reads what it prints. To be called on one rank,
/// after MPI has ended: a job inside a running one is more than launchers bear. Leaves this process free to run on all
/// cores. Only where the rows hold all ranks and share a node, and the work is sincos.
[[nodiscard]] CoarrayOutcome run_coarray(const Options& options, std::size_t ranks, const SizeMeasured& beside);

}  // namespace alltoall
