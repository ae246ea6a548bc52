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

/// The ranks of an exchange as MPI knows them. Owns their communicator.
class Members {
 public:
  /// Collective over the group. `world`, whose ranks are those of the group's endpoint, must live as long.
  Members(MPI_Comm world, comm::Group group);
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;
  Members(Members&&) = delete;
  Members& operator=(Members&&) = delete;
  ~Members();

  [[nodiscard]] MPI_Comm world() const noexcept { return world_; }
  [[nodiscard]] MPI_Comm comm() const noexcept { return comm_; }
  [[nodiscard]] std::size_t size() const noexcept { return group_.size(); }
  [[nodiscard]] std::size_t self() const noexcept { return group_.self(); }
  /// Whether all are on one node; the same on all members.
  [[nodiscard]] bool is_on_one_node() const noexcept { return is_on_one_node_; }

  /// To be held around calls to MPI that may wait for other ranks: what plait has begun to send leaves first, as others
  /// may need it to get to the same call; and where MPI does not allow calls by several threads, the endpoint keeps out
  /// of it meanwhile. Throws: `Error` when the run has failed.
  [[nodiscard]] std::unique_lock<SpinLock> calls() const;
  /// The same for what is ended: nothing leaves first.
  [[nodiscard]] std::unique_lock<SpinLock> last_calls() const;

 private:
  MPI_Comm world_;
  comm::Group group_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  bool is_on_one_node_ = false;
  bool must_keep_out_ = false;
};

/// Finds the members of a group again: it has one communicator, however many exchanges, for as long as it has any.
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
