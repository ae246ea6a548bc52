// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include <mpi.h>

namespace bench {

/// What one call took, the same on all ranks.
struct EvenTime {
  double call_us = 0;  ///< From when the last rank started the call to when the last one left it.
  double skew_us = 0;  ///< Between the first rank's start and the last one's.
};

/// Starts a call on all ranks of a communicator at one moment of a common clock.
///
/// Uses messages only, never a collective of the MPI, which may be what is slow. Every call is collective over the
/// communicator.
class EvenStart {
 public:
  /// Compares the clocks with that of rank 0: of several exchanges, the one with the shortest round trip counts
  /// (Cristian's method), with an error of at most half of that time.
  explicit EvenStart(MPI_Comm comm);

  /// Runs `call` once on every rank; `after` then, outside of the time, if it is not empty. The moment of the start is
  /// later where ranks outnumber the cores.
  [[nodiscard]] EvenTime time(const std::function<void()>& call, const std::function<void()>& after = {}) const;
  /// The largest error of the clocks' comparison.
  [[nodiscard]] double clock_error_us() const noexcept { return error_us_; }

 private:
  [[nodiscard]] double common_us() const;
  /// Returns when all start, by the common clock.
  [[nodiscard]] double agree_on_start() const;

  MPI_Comm comm_;
  int rank_ = 0;
  int size_ = 1;
  bool is_crowded_ = false;
  double offset_us_ = 0;  ///< Of rank 0's clock from this one's.
  double error_us_ = 0;
};

}  // namespace bench
