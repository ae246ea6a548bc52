// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include <mpi.h>

#include "plait/base/spin_lock.hpp"
#include "plait/record/mpi_library.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::record {

/// The sources and destinations of neighbourhood collectives: members, or MPI_PROC_NULL.
struct Neighbours {
  std::vector<int> sources;
  std::vector<int> destinations;
};

/// A communicator of the program.
struct Communicator {
  std::uint32_t number = 0;
  std::uint32_t self = 0;        ///< This rank's member index.
  std::uint32_t local_size = 0;  ///< Members; of an inter-communicator, of the local group.
  bool is_inter = false;
  /// Ranks in MPI_COMM_WORLD, in order; of an inter-communicator, local group, then remote group. Empty: all ranks.
  std::vector<std::uint32_t> members;
  std::atomic<std::uint32_t> collective_count = 0;  ///< Started so far.
  std::unique_ptr<const Neighbours> neighbours;     ///< Set when they are first requested.

  /// The number of members that this rank can send to.
  [[nodiscard]] std::uint32_t peer_count() const noexcept {
    return is_inter ? static_cast<std::uint32_t>(members.size()) - local_size : local_size;
  }
  /// A source, destination or root as a rank of the run; `trace::nothing` if it is any, none, or outside of the run.
  [[nodiscard]] std::uint32_t rank_of_run(int peer) const noexcept {
    if (peer < 0 || static_cast<std::uint32_t>(peer) >= peer_count()) {
      return trace::nothing;
    }
    const std::size_t index = static_cast<std::size_t>(peer) + (is_inter ? local_size : 0);
    return members.empty() ? static_cast<std::uint32_t>(peer) : members[index];
  }
};

/// The communicators of the program, by handle.
///
/// All members must give a communicator the same number. Member 0 takes the next of its numbers (equal modulo the
/// number of ranks) and broadcasts it in the new communicator; an inter-communicator needs two reductions.
/// Communicators from non-blocking calls, or of unknown origin, allow no such messages: their number is a hash of what
/// all members know, in the upper half of the numbers.
///
/// Threads: any, except that MPI orders calls of `made` with one parent.
class KnownCommunicators {
 public:
  /// Reads the groups of the world; sends no messages.
  KnownCommunicators(const Mpi& mpi, trace::ThreadRecorder& recorder);

  /// The communicator of a handle; adds unknown ones. Valid until the program frees it.
  [[nodiscard]] Communicator& find(MPI_Comm handle);
  [[nodiscard]] std::shared_ptr<Communicator> share(MPI_Comm handle);

  /// Adds a new communicator; collective over it. Does nothing for `MPI_COMM_NULL`.
  void made(MPI_Comm handle, trace::ThreadRecorder& recorder);
  /// Adds the result of a non-blocking duplication of `parent`.
  void duplicating(MPI_Comm parent, MPI_Comm handle, trace::ThreadRecorder& recorder);
  /// Forgets a communicator that is about to be freed.
  void freeing(MPI_Comm handle) noexcept;

  /// Changes when a handle may have a new meaning.
  [[nodiscard]] std::uint32_t epoch() const noexcept {
    return epoch_.load(std::memory_order_acquire);  // with release in freeing(), insert()
  }
  [[nodiscard]] std::uint32_t run_size() const noexcept { return run_size_; }
  [[nodiscard]] std::uint32_t run_rank() const noexcept { return run_rank_; }

 private:
  [[nodiscard]] std::shared_ptr<Communicator> describe(MPI_Comm handle) const;
  [[nodiscard]] std::vector<std::uint32_t> ranks_of(MPI_Group group) const;
  [[nodiscard]] std::uint32_t next_number() noexcept;
  [[nodiscard]] std::uint32_t agreed_number(MPI_Comm handle, const Communicator& communicator);
  void insert(MPI_Comm handle, std::shared_ptr<Communicator> communicator, trace::ThreadRecorder& recorder);

  const Mpi& mpi_;
  std::uint32_t run_size_ = 0;
  std::uint32_t run_rank_ = 0;
  MPI_Group run_group_;
  std::atomic<std::uint32_t> numbers_given_ = 0;
  std::atomic<std::uint32_t> epoch_ = 1;
  SpinLock lock_;  ///< Guards the table.
  std::unordered_map<std::uint64_t, std::shared_ptr<Communicator>> table_;
};

}  // namespace plait::record
