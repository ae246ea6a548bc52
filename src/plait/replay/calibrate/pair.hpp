// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <mpi.h>

#include "plait/replay/calibrate/computation.hpp"

namespace plait::replay::calibrating {

/// Two ranks that exchange messages, with their times in nanoseconds. Both call the same functions in the same order.
/// Threads: one. Errors are those of MPI, which end the program.
class Pair {
 public:
  /// `ranks`: a communicator of two ranks, which outlives this object.
  Pair(MPI_Comm ranks, Computation computation);

  [[nodiscard]] bool is_first() const noexcept { return self_ == 0; }

  /// Waits until the other rank calls it, too.
  void meet() const;
  /// Sends the other rank an empty message that `await_signal` waits for.
  void signal() const;
  void await_signal() const;

  [[nodiscard]] MPI_Request send(std::span<const std::byte> data) const;
  [[nodiscard]] MPI_Request receive(std::span<std::byte> data) const;
  static void wait(std::span<MPI_Request> requests);
  static void wait(MPI_Request& request) { wait(std::span{&request, 1}); }

  /// Returns the value of one rank on both.
  [[nodiscard]] double of_first(double mine) const { return of_rank(0, mine); }
  [[nodiscard]] double of_second(double mine) const { return of_rank(1, mine); }
  [[nodiscard]] const Computation& computation() const noexcept { return computation_; }
  [[nodiscard]] MPI_Comm ranks() const noexcept { return ranks_; }

 private:
  [[nodiscard]] double of_rank(int rank, double mine) const;

  MPI_Comm ranks_;
  int self_ = 0;
  Computation computation_;
};

/// The buffers of a message of so many bytes, one for each way.
struct Buffers {
  explicit Buffers(std::size_t bytes) : out(bytes), in(bytes) {}
  std::vector<std::byte> out;
  std::vector<std::byte> in;
};

/// The middle one. Expects: not empty.
[[nodiscard]] double median(std::vector<double> values);

}  // namespace plait::replay::calibrating
