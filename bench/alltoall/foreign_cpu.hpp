// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include <mpi.h>

namespace alltoall {

/// How much of the processors others used while this job measured. Above a few percent, medians hide it no longer.
///
/// Includes the interrupts that the system serves while this job's processes sleep: a few percent on a fast network.
class ForeignCpu {
 public:
  /// Starts to measure. Collective over `world`, which must live as long.
  explicit ForeignCpu(MPI_Comm world);

  /// The share of the processor time of a machine that neither stood idle nor was this job's, of the machine where it
  /// is largest. 0 where the system does not tell. Collective.
  [[nodiscard]] double share() const;

 private:
  struct Reading {
    double busy = 0;  ///< Seconds, all cores of the machine.
    double own = 0;   ///< Seconds, this process.
    std::chrono::steady_clock::time_point at;
  };
  [[nodiscard]] static Reading read();

  MPI_Comm world_;
  Reading start_;
};

}  // namespace alltoall
