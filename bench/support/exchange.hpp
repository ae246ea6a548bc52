// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <mpi.h>

#include "support/computation.hpp"
#include "support/stopwatch.hpp"

namespace bench {

/// Exchanges of two ranks, by a side such as `RawMpi` or `Plait`. All times are seconds, valid on rank 0.
template <class Side>
class Exchange {
 public:
  Exchange(Side& side, int rank, std::span<std::byte> buffer)
      : side_{side}, rank_{rank}, peer_{1 - rank}, buffer_{buffer} {}

  /// One way, the mean of `count` round trips.
  double one_way(std::span<std::byte> data, int count) {
    MPI_Barrier(MPI_COMM_WORLD);
    const Stopwatch watch;
    for (int i = 0; i < count; ++i) {
      if (rank_ == 0) {
        side_.blocking_send(peer_, data_tag, data);
        side_.blocking_receive(peer_, data_tag, data);
      } else {
        side_.blocking_receive(peer_, data_tag, data);
        side_.blocking_send(peer_, data_tag, data);
      }
    }
    return watch.seconds() / (2 * count);
  }

  /// Includes the acknowledgement.
  double sender_computes(std::uint64_t steps) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_ != 0) {
      side_.blocking_receive(peer_, data_tag, buffer_);
      side_.blocking_send(peer_, control_tag, {});
      return 0;
    }
    const Stopwatch watch;
    send_and_compute(steps);
    side_.blocking_receive(peer_, control_tag, {});
    return watch.seconds();
  }

  /// Includes the message that requests the transfer.
  double receiver_computes(std::uint64_t steps) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_ != 0) {
      side_.blocking_receive(peer_, control_tag, {});
      side_.blocking_send(peer_, data_tag, buffer_);
      return 0;
    }
    const Stopwatch watch;
    side_.blocking_send(peer_, control_tag, {});
    receive_and_compute(steps);
    return watch.seconds();
  }

  double both_compute(std::uint64_t steps) {
    MPI_Barrier(MPI_COMM_WORLD);
    const Stopwatch watch;
    if (rank_ == 0) {
      send_and_compute(steps);
      receive_and_compute(steps);
    } else {
      receive_and_compute(steps);
      send_and_compute(steps);
    }
    return watch.seconds() / 2;
  }

 private:
  static constexpr int data_tag = 1;
  static constexpr int control_tag = 2;

  void send_and_compute(std::uint64_t steps) {
    auto request = side_.send(peer_, data_tag, buffer_);
    bench::compute(steps);
    side_.wait(request);
  }
  void receive_and_compute(std::uint64_t steps) {
    auto request = side_.receive(peer_, data_tag, buffer_);
    bench::compute(steps);
    side_.wait(request);
  }

  Side& side_;
  int rank_;
  int peer_;
  std::span<std::byte> buffer_;
};

}  // namespace bench
