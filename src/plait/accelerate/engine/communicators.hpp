// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include <mpi.h>

#include "plait/accelerate/engine/buffered.hpp"
#include "plait/accelerate/engine/partitioned.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/net/driver.hpp"

namespace plait::accelerate {

/// An intracommunicator whose messages go through the engine.
///
/// Rank 0 of it chooses its number among those of its own and sends it to the others, in the communicator that this one
/// was made from. So no two communicators that share a rank have equal numbers, and to make one takes no collective.
/// Threads: any.
class RoutedCommunicator {
 public:
  /// `ranks`: the members, as ranks of the run, by their rank here.
  RoutedCommunicator(comm::Endpoint& endpoint, const net::Driver& driver, MPI_Comm handle, std::vector<Rank> ranks);
  RoutedCommunicator(const RoutedCommunicator&) = delete;
  RoutedCommunicator& operator=(const RoutedCommunicator&) = delete;

  [[nodiscard]] MPI_Comm handle() const noexcept { return handle_; }
  [[nodiscard]] int size() const noexcept { return static_cast<int>(ranks_.size()); }
  [[nodiscard]] int rank() const noexcept { return rank_; }
  /// Whether messages between some of its ranks pass a network. Equal on all.
  [[nodiscard]] bool spans_hosts() const noexcept { return spans_hosts_; }
  [[nodiscard]] const std::vector<Rank>& ranks() const noexcept { return ranks_; }
  /// Expects: `rank` is one of this communicator.
  [[nodiscard]] Rank rank_of_run(int rank) const noexcept { return ranks_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] int rank_here(Rank rank) const noexcept {
    return is_whole_ ? static_cast<int>(rank.value()) : ranks_here_[rank.value()];
  }

  /// The number that its messages bear. Waits until it is known.
  [[nodiscard]] comm::CommId id() {
    const std::uint32_t known = id_.load(std::memory_order_acquire);  // with release where it is stored
    return comm::CommId{known != 0 ? known : wait_for_id()};
  }
  /// The address of a message with MPI's wildcards.
  [[nodiscard]] comm::Address address(int peer, int tag) {
    return {peer == MPI_ANY_SOURCE ? any_source : rank_of_run(peer),
            tag == MPI_ANY_TAG ? any_tag : Tag{static_cast<std::uint64_t>(tag)},
            id()};
  }
  /// The number that messages bear which are not the program's: new communicators' numbers, parts of collectives.
  [[nodiscard]] comm::CommId internal_id() { return comm::CommId{id().value() | internal_bit}; }
  /// Whether the message with the number, sent or received, is over.
  [[nodiscard]] bool is_agreed() const noexcept { return choice_.is_complete(); }
  void set_id(std::uint32_t id) noexcept { id_.store(id, std::memory_order_release); }
  /// Agrees on the number with the other members: the one that this process chooses as rank 0, else what that sends.
  void agree(RoutedCommunicator& parent, std::uint64_t creation, std::uint32_t own_choice);
  /// The number of the next communicator that all members of this one make together.
  [[nodiscard]] std::uint64_t next_creation() noexcept { return creations_.fetch_add(1, std::memory_order_relaxed); }

  /// Operations that the program has begun and not ended.
  std::atomic<std::uint32_t> outstanding = 0;
  /// The buffer of its buffered sends, if the program has attached one to it.
  SendBuffer buffered;
  PartitionedNumbers partitioned;

 private:
  static constexpr std::uint32_t internal_bit = 1U << 29U;

  [[nodiscard]] std::uint32_t wait_for_id();

  comm::Endpoint& endpoint_;
  const MPI_Comm handle_;
  const std::vector<Rank> ranks_;
  std::vector<int> ranks_here_;  ///< By rank of the run, unless these are the same.
  bool is_whole_ = true;         ///< Ranks here are those of the run.
  bool spans_hosts_ = false;
  int rank_ = 0;
  std::atomic<std::uint32_t> id_ = 0;
  std::atomic<std::uint64_t> creations_ = 0;
  std::uint32_t chosen_ = 0;  ///< What rank 0 sends.
  comm::Request choice_;      ///< Its arrival.
  std::atomic_flag is_waiting_for_id_;
};

/// The communicators that are routed, by handle. Threads: any.
class RoutedCommunicators {
 public:
  /// Knows MPI_COMM_WORLD and MPI_COMM_SELF. Expects: the ranks of `endpoint` and its `driver`, which must outlive it,
  /// are those of MPI_COMM_WORLD.
  RoutedCommunicators(comm::Endpoint& endpoint, const net::Driver& driver);
  RoutedCommunicators(const RoutedCommunicators&) = delete;
  RoutedCommunicators& operator=(const RoutedCommunicators&) = delete;
  ~RoutedCommunicators();

  /// Null when its messages are not routed. Cost: some nanoseconds where a thread asks for the same again.
  [[nodiscard]] RoutedCommunicator* find(MPI_Comm handle) noexcept;

  /// Routes `made`, which the members of `parent` have made together; unless `parent` is null, or it has processes that
  /// are not of the run, or it is no intracommunicator. Nothing for MPI_COMM_NULL.
  void made(RoutedCommunicator* parent, MPI_Comm made, std::uint64_t creation);
  /// Routes a duplicate of `parent`, whose handle may not be used yet.
  void duplicated(RoutedCommunicator& parent, MPI_Comm made, std::uint64_t creation);
  /// The program frees `handle`: operations under way go on.
  void freed(MPI_Comm handle) noexcept;

  /// Communicators that were made and are not routed.
  [[nodiscard]] std::uint64_t unrouted_count() const noexcept { return unrouted_.load(std::memory_order_relaxed); }
  void note_unrouted() noexcept { unrouted_.fetch_add(1, std::memory_order_relaxed); }

 private:
  RoutedCommunicator& add(MPI_Comm handle, std::vector<Rank> ranks);
  [[nodiscard]] std::uint32_t choose_id() noexcept;
  [[nodiscard]] std::vector<Rank> ranks_of(MPI_Comm handle) const;

  comm::Endpoint& endpoint_;
  const net::Driver& driver_;
  MPI_Group run_group_ = MPI_GROUP_NULL;
  int keyval_ = MPI_KEYVAL_INVALID;  ///< Of an attribute that ends with its communicator.
  std::shared_mutex mutex_;
  std::unordered_map<MPI_Comm, std::unique_ptr<RoutedCommunicator>> known_;
  std::vector<std::unique_ptr<RoutedCommunicator>> freed_;  ///< With operations under way.
  std::atomic<std::uint64_t> epoch_ = 1;                    ///< Changes when a handle ends.
  std::atomic<std::uint32_t> choices_ = 0;
  std::atomic<std::uint64_t> unrouted_ = 0;
};

}  // namespace plait::accelerate
