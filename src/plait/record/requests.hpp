// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "plait/base/spin_lock.hpp"
#include "plait/record/communicators.hpp"
#include "plait/trace/event.hpp"

namespace plait::record {

struct Traffic;

enum class OperationKind : std::uint8_t { send, receive, collective, other };

/// The operation of a request.
struct PostedOperation {
  OperationKind kind = OperationKind::other;
  bool is_persistent = false;  ///< Remains when it completes, and may be started again.
  bool is_active = true;       ///< False for a persistent one that is not started.
  bool is_to_be_cancelled = false;
  bool has_gaps = false;  ///< Of a send: its data is not contiguous.
  /// The call that posted it. For a message, `bytes_given` is its size; the peer of a receive from any source is
  /// unknown until it completes.
  trace::CallEvent call;
  const void* thread = nullptr;  ///< The thread that posted it.
  int tag = 0;
  /// Of receives from any source and of persistent collectives.
  std::shared_ptr<Communicator> members;
  std::shared_ptr<const Traffic> traffic;  ///< Of persistent collectives.
};

/// The operations whose end was not yet reported to the program, by request.
///
/// A handle may represent several: MPI libraries return one handle for all sends that are complete at once, to all
/// threads. A thread takes its own first, then those of others, in order. Cost: constant, if threads complete what they
/// have posted. Threads: any.
class Requests {
 public:
  /// What `take` does with a persistent operation.
  enum class Persistent : std::uint8_t { stays, goes };

  void add(std::uint64_t handle, const PostedOperation& operation);
  /// Removes and returns the earliest operation of a handle that `thread` has posted, or else the earliest. A
  /// persistent one that `stays` is only made inactive. Nothing for an unknown handle.
  [[nodiscard]] std::optional<PostedOperation> take(std::uint64_t handle, const void* thread, Persistent persistent);
  /// Calls `change` with the earliest operation of a handle, if any. It runs under a lock, so it must be short.
  template <class Change>
  void alter(std::uint64_t handle, const Change& change) {
    Shard& shard = shard_of(handle);
    const std::lock_guard lock{shard.lock};
    if (const auto known = shard.chains.find(handle); known != shard.chains.end()) {
      change(known->second.first->operation);
    }
  }
  /// Calls `visit` for all operations, in no order, under a lock.
  void for_each(const std::function<void(const PostedOperation&)>& visit);

 private:
  struct Node {
    PostedOperation operation;
    Node* next = nullptr;
  };
  /// The operations of a handle, the earliest first.
  struct Chain {
    Node* first = nullptr;
    Node* last = nullptr;
  };
  /// A part of the table with a lock of its own.
  struct alignas(64) Shard {
    SpinLock lock;
    boost::unordered_flat_map<std::uint64_t, Chain> chains;  ///< By handle.
    Node* spare = nullptr;
    std::vector<std::unique_ptr<Node[]>> blocks;

    [[nodiscard]] Node* take_spare();
  };
  static constexpr std::size_t shard_bits = 4;

  [[nodiscard]] Shard& shard_of(std::uint64_t handle) noexcept;

  std::array<Shard, std::size_t{1} << shard_bits> shards_;
};

}  // namespace plait::record
