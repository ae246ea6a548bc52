// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <mpi.h>

#include "pic/ranks.hpp"

namespace pic {

/// The ranks of a communicator, by plain MPI: point-to-point messages, and sums by all-reduce.
class MpiRanks final : public Ranks {
 public:
  /// Duplicates the communicator. Collective.
  explicit MpiRanks(MPI_Comm communicator);
  ~MpiRanks() override;

  [[nodiscard]] int self() const noexcept override { return self_; }
  [[nodiscard]] int count() const noexcept override { return count_; }
  void exchange(std::span<plait::Bytes> out, std::span<plait::Bytes> in) override;
  void exchange_unknown(std::span<plait::Bytes> out, std::span<plait::Bytes> in) override;
  void sum(std::span<std::int64_t> values) override;
  [[nodiscard]] double max(double value) override;

 private:
  MPI_Comm communicator_ = MPI_COMM_NULL;
  int self_ = 0;
  int count_ = 0;
  std::vector<MPI_Request> requests_;
  std::vector<std::int64_t> lengths_out_;
  std::vector<std::int64_t> lengths_in_;
};

}  // namespace pic
