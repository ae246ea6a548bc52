// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include <mpi.h>

#include "plait/base/spin_lock.hpp"
#include "plait/comm/collectives/group.hpp"

namespace plait::fft::mpi {

/// The ranks of an exchange in MPI. Owns their communicator.
class Members {
 public:
  /// Collective over the group. `world`, whose ranks are those of the group's endpoint, must live as long.
  Members(MPI_Comm world, comm::Group group);
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;
  ~Members();

  [[nodiscard]] MPI_Comm world() const noexcept { return world_; }
  [[nodiscard]] MPI_Comm comm() const noexcept { return comm_; }
  [[nodiscard]] std::size_t size() const noexcept { return group_.size(); }
  [[nodiscard]] std::size_t self() const noexcept { return group_.self(); }
  /// Whether all are on one node; the same on all members.
  [[nodiscard]] bool is_on_one_node() const noexcept { return is_on_one_node_; }

  /// A lock to hold around calls to MPI that may wait for other ranks. Flushes the sends of plait first, as other ranks
  /// may need them to arrive at the same call. Unless MPI allows calls from several threads, the endpoint makes none
  /// while it is held. Throws: `Error` if the run has failed.
  [[nodiscard]] std::unique_lock<SpinLock> calls() const;
  /// The same for destruction, without the flush.
  [[nodiscard]] std::unique_lock<SpinLock> last_calls() const;

 private:
  MPI_Comm world_;
  comm::Group group_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  bool is_on_one_node_ = false;
  bool must_keep_out_ = false;
};

/// Caches the members of groups: the exchanges of a group share one communicator.
class Communicators {
 public:
  explicit Communicators(MPI_Comm world) : world_{world} {}
  /// Collective over the group.
  [[nodiscard]] std::shared_ptr<const Members> of(const comm::Group& group);

 private:
  struct Known {
    std::vector<Rank> ranks;
    std::weak_ptr<const Members> members;
  };
  MPI_Comm world_;
  std::vector<Known> known_;
};

}  // namespace plait::fft::mpi
