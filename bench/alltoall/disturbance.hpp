// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>

#include <mpi.h>

namespace alltoall {

/// How other processes disturbed the measurement. Medians do not hide more than a few percent of either.
struct Disturbance {
  /// Share of the time in which a rank was ready to run while others had its processor: the largest of all ranks. A
  /// lower bound where the rank's own threads share a processor.
  double waited = 0;
  /// Share of processor time that was neither idle nor this job's: the largest of all machines. Includes interrupts
  /// that the system serves while this job sleeps: a few percent on a fast network. Empty when the time was too short
  /// for the system's count.
  std::optional<double> foreign_cpu;
};

/// Measures how much processor time other processes take. All zero where the system has no such counts.
class Watch {
 public:
  /// Starts measuring. Collective over `world`, which must outlive this object.
  explicit Watch(MPI_Comm world);

  /// The disturbance since the start. Collective.
  [[nodiscard]] Disturbance disturbance() const;

 private:
  struct Reading {
    double busy = 0;    ///< Seconds, all cores of the machine.
    double own = 0;     ///< Seconds, this process.
    double waited = 0;  ///< Seconds, this thread, for other processes.
    std::chrono::steady_clock::time_point at;
  };
  [[nodiscard]] static Reading read();

  MPI_Comm world_;
  Reading start_;
};

}  // namespace alltoall
