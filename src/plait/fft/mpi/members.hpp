// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <mpi.h>

#include "plait/base/spin_lock.hpp"
#include "plait/comm/collectives/group.hpp"

namespace plait::fft::mpi {

/// The MPI communicator of an exchange.
class Members {
 public:
  /// Collective over the group. `world` has the ranks of the group's endpoint, and must outlive this object.
  Members(MPI_Comm world, comm::Group group);
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;
  ~Members();

  [[nodiscard]] MPI_Comm world() const noexcept { return world_; }
  [[nodiscard]] MPI_Comm comm() const noexcept { return comm_; }
  [[nodiscard]] std::size_t size() const noexcept { return group_.size(); }
  [[nodiscard]] std::size_t self() const noexcept { return group_.self(); }
  /// Whether all members are on one node; equal on all of them.
  [[nodiscard]] bool is_on_one_node() const noexcept { return is_on_one_node_; }

  /// Locks the endpoint for calls of MPI that may wait for other ranks, unless MPI allows calls from several threads.
  /// First flushes the endpoint's sends, which other ranks may need to reach the same call. Throws: `Error` if the run
  /// has failed.
  [[nodiscard]] std::unique_lock<SpinLock> calls() const;
  /// The same without the flush, for destruction.
  [[nodiscard]] std::unique_lock<SpinLock> last_calls() const;

 private:
  MPI_Comm world_;
  comm::Group group_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  bool is_on_one_node_ = false;
  bool must_keep_out_ = false;
};

/// Caches communicators, so that the exchanges of a group share one.
class Communicators {
 public:
  explicit Communicators(MPI_Comm world) : world_{world} {}
  /// Collective over the group.
  [[nodiscard]] std::shared_ptr<const Members> of(const comm::Group& group);

 private:
  MPI_Comm world_;
  std::map<std::vector<Rank>, std::weak_ptr<const Members>> known_;  ///< By the ranks of the group.
};

}  // namespace plait::fft::mpi
