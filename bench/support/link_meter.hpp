// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <mpi.h>

#include "support/links.hpp"

namespace bench {

/// Measures what the ranks of MPI_COMM_WORLD send over the links of a lab; does nothing outside one. All calls are
/// collective.
class LinkMeter {
 public:
  LinkMeter() {
    MPI_Comm host = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &ranks_of_host_);
    MPI_Comm_free(&host);
  }

  void start() { before_ = sent_by_all(); }
  /// Adds what crossed since `start`, and the `expected` bytes of all ranks that had to.
  void stop(double expected, Crossing& crossing) {
    if (before_) {
      crossing.expected += expected;
      crossing.crossed += *sent_by_all() - *before_;
    }
  }

 private:
  [[nodiscard]] std::optional<double> sent_by_all() const {
    if (!sent_by_this_host()) {
      return {};
    }
    MPI_Barrier(MPI_COMM_WORLD);  // what a rank has received was sent by another one
    double sum = static_cast<double>(sent_by_this_host().value_or(0)) / ranks_of_host_;
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
  }

  int ranks_of_host_ = 1;
  std::optional<double> before_;
};

}  // namespace bench
