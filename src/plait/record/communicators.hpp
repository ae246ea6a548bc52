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

/// Whom a rank receives from and sends to in collectives among neighbours: members, or MPI_PROC_NULL.
struct Neighbours {
  std::vector<int> sources;
  std::vector<int> destinations;
};

/// A communicator of the program.
struct Communicator {
  std::uint32_t number = 0;
  std::uint32_t self = 0;        ///< This rank in it.
  std::uint32_t local_size = 0;  ///< Members; of an inter-communicator: of the own side.
  bool is_inter = false;
  /// Ranks of the run, in its order; of an inter-communicator the own side, then the other. Nothing when they are those
  /// of the run.
  std::vector<std::uint32_t> members;
  std::atomic<std::uint32_t> collective_count = 0;  ///< Begun so far.
  std::unique_ptr<const Neighbours> neighbours;     ///< Of one with a topology, once they are requested.

  /// How many ranks there are to send to.
  [[nodiscard]] std::uint32_t peer_count() const noexcept {
    return is_inter ? static_cast<std::uint32_t>(members.size()) - local_size : local_size;
  }
  /// A source, destination or root as a rank of the run; `trace::nothing` for any, none, or one outside of the run.
  [[nodiscard]] std::uint32_t rank_of_run(int peer) const noexcept {
    if (peer < 0 || static_cast<std::uint32_t>(peer) >= peer_count()) {
      return trace::nothing;
    }
    const std::size_t index = static_cast<std::size_t>(peer) + (is_inter ? local_size : 0);
    return members.empty() ? static_cast<std::uint32_t>(peer) : members[index];
  }
};

/// All communicators that the program has, by their handles.
///
/// A number must mean the same on all members. Member 0 takes the next of its own numbers (those that are its rank
/// modulo the number of ranks) and reports the others by one broadcast in the new communicator; two reductions for an
/// inter-communicator. A communicator that is made in the background, or that comes from elsewhere, may not be talked
/// in: its number is a hash of what all members know, in the upper half of the numbers.
///
/// Threads: all calls from any, apart from those that MPI itself wants in order (`made` on one parent).
class KnownCommunicators {
 public:
  /// Collective over all ranks in that it asks MPI for its groups only.
  KnownCommunicators(const Mpi& mpi, trace::ThreadRecorder& recorder);

  /// Of a handle; learns one that it does not know. Valid until the program frees the communicator.
  [[nodiscard]] Communicator& find(MPI_Comm handle);
  [[nodiscard]] std::shared_ptr<Communicator> share(MPI_Comm handle);

  /// The program has made one; collective over it. Nothing happens for `MPI_COMM_NULL`.
  void made(MPI_Comm handle, trace::ThreadRecorder& recorder);
  /// It makes a copy of `parent` in the background.
  void duplicating(MPI_Comm parent, MPI_Comm handle, trace::ThreadRecorder& recorder);
  /// It is about to free one.
  void freeing(MPI_Comm handle) noexcept;

  /// Rises when a handle may have got another meaning.
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
