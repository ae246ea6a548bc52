// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include <mpi.h>

namespace bench {

/// Collectives with a sum, made of MPI's messages by the algorithms that MPI libraries have. Collective over the
/// communicator. The memory between calls is reused.
class SumsByMessages {
 public:
  explicit SumsByMessages(MPI_Comm comm);

  /// Writes the sums of the elements of all ranks up to this one: recursive doubling. Cost: ceil(log2(members)) rounds.
  void scan(std::span<const double> own, std::span<double> sums) { add_up(own, sums, Prefix::with_own); }
  /// Writes the sums of all ranks before this one; on the first, `sums` stays as it is.
  void exscan(std::span<const double> own, std::span<double> sums) { add_up(own, sums, Prefix::without_own); }
  /// Writes the sums of this rank's block. `blocks`: as many elements as `sum` has, for each member. Recursive halving
  /// where the members are a power of two, else pairwise exchange.
  void reduce_scatter(std::span<const double> blocks, std::span<double> sum);

 private:
  enum class Prefix { with_own, without_own };

  void add_up(std::span<const double> own, std::span<double> sums, Prefix what);
  void halve(std::span<const double> blocks, std::span<double> sum);
  void exchange_pairwise(std::span<const double> blocks, std::span<double> sum);
  /// Sends to one and receives from another; returns what came.
  std::span<const double> exchange(std::span<const double> data, int to, int from, std::size_t count);

  MPI_Comm comm_;
  int rank_ = 0;
  int size_ = 1;
  std::vector<double> partial_;
  std::vector<double> received_;
};

}  // namespace bench
