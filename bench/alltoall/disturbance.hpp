// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>

#include <mpi.h>

namespace alltoall {

/// How others disturbed the measurement. More than a few percent of either, and medians hide it no longer.
struct Disturbance {
  /// Share of the time in which a rank was ready to run and others had its processor, of the rank where it is largest.
  /// Where the rank's own threads share a processor, that is a lower bound.
  double waited = 0;
  /// Share of a machine's processor time that neither was idle nor was this job's, of the machine where it is largest.
  /// Includes the interrupts that the system serves while this job sleeps: a few percent on a fast network. Nothing
  /// when the time was too short for the system's own count.
  std::optional<double> foreign_cpu;
};

/// Watches what others do to the processors while this job measures. All zero where the system has no such counts.
class Watch {
 public:
  /// Starts. Collective over `world`, which must live as long.
  explicit Watch(MPI_Comm world);

  /// Since the start. Collective.
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
