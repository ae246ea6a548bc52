// SPDX-License-Identifier: Apache-2.0
#include "plait/fft/mpi/variants.hpp"

#include <memory>

#include "plait/fft/mpi/detail/exchanges.hpp"

namespace plait::fft::mpi {

std::vector<Variant> variants(MPI_Comm world, const VariantOptions& options) {
  const auto communicators = std::make_shared<Communicators>(world);
  /// Calls `make` with the members in MPI in place of the group, and further arguments.
  const auto by = [communicators](auto make, auto... settings) -> MakeExchange {
    return [=](const comm::Group& group, const BlockBytes& bytes) {
      return make(communicators->of(group), bytes, settings...);
    };
  };
  return {
      {"MPI", "", "MPI_Alltoallv", by(make_blocking)},
      {"MIB", "", "MPI_Ialltoallv, completed at once", by(make_nonblocking, When::at_once)},
      {"MIN", "MIB", "MPI_Ialltoallv, computing before the wait", by(make_nonblocking, When::meanwhile)},
      {"MIT", "MIB", "as MIN, with MPI_Test between batches", by(make_nonblocking, When::in_advance)},
      {"PIB", "", "persistent all-to-all, completed at once", by(make_persistent, When::at_once)},
      {"PIN", "PIB", "persistent all-to-all, computing before the wait", by(make_persistent, When::meanwhile)},
      {"CoM",
       "",
       "chunks fetched one-sided, all ranks synchronise after each",
       by(make_chunked_gets, options.chunk_bytes)},
      {"CrB", "", "blocks fetched from a window in random order, completed at once", by(make_gets, When::at_once)},
      {"CrN", "CrB", "the same, computing before the wait", by(make_gets, When::meanwhile)},
      {"CsB", "", "as CrB: the twin of CsN", by(make_gets, When::at_once)},
      {"CsN", "CsB", "each get between two batches", by(make_gets, When::in_advance)},
      {"SHM", "", "copied out of a window that a node's ranks share", by(make_shared_window)},
  };
}

}  // namespace plait::fft::mpi
