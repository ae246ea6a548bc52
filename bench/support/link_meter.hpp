// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

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
    const std::vector<double> now = sent_by_all();
    if (now.empty()) {
      return;
    }
    crossing.expected += expected;
    crossing.by_link.resize(now.size());
    for (std::size_t link = 0; link < now.size(); ++link) {
      crossing.by_link[link] += now[link] - before_[link];
      crossing.crossed += now[link] - before_[link];
    }
  }

 private:
  /// Over the first link of each host, the second, ...; all hosts have as many. Empty outside a lab.
  [[nodiscard]] std::vector<double> sent_by_all() const {
    if (sent_by_this_host().empty()) {
      return {};
    }
    MPI_Barrier(MPI_COMM_WORLD);  // what a rank has received was sent by another one
    std::vector<double> sums;
    for (const auto& [interface, bytes] : sent_by_this_host()) {
      sums.push_back(static_cast<double>(bytes) / ranks_of_host_);
    }
    MPI_Allreduce(MPI_IN_PLACE, sums.data(), static_cast<int>(sums.size()), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sums;
  }

  int ranks_of_host_ = 1;
  std::vector<double> before_;
};

}  // namespace bench
