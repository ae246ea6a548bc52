// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include "plait/files/hdf5/write_file.hpp"

namespace plait::files {

/// The ranks of a communicator, which is borrowed. It must have no messages in flight, as HDF5 uses it.
class MpiRanks final : public Hdf5Ranks {
 public:
  explicit MpiRanks(MPI_Comm communicator) : communicator_{communicator} {}

  [[nodiscard]] std::uint32_t self() const noexcept override;
  [[nodiscard]] std::uint32_t count() const noexcept override;
  [[nodiscard]] net::Exchange exchange() override;
  void in_turn(const std::function<void()>& turn) override;
  /// Empty for one rank, for simulated ranks, and for an HDF5 without parallel I/O.
  [[nodiscard]] Hdf5Handle parallel_access() const override;

 private:
  MPI_Comm communicator_;
};

}  // namespace plait::files
