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

enum class OperationKind : std::uint8_t { send, receive, collective, other };

/// What a request of the program represents.
struct PostedOperation {
  OperationKind kind = OperationKind::other;
  bool is_persistent = false;  ///< Stays when it completes; begins when started.
  bool is_active = true;       ///< Not of a persistent one between its rounds.
  bool is_to_be_cancelled = false;
  /// That posted it. Of a message, `bytes_given` are its bytes; the peer of a receive from any source is not known
  /// until it is complete.
  trace::CallEvent call;
  const void* thread = nullptr;  ///< Of the thread that posted it.
  int tag = 0;
  /// To know the source of a receive from any, and the rounds of a persistent collective.
  std::shared_ptr<Communicator> members;
};

/// The operations whose end the program does not know of yet, by their requests.
///
/// A handle may represent several: MPI libraries give one to all sends that are complete at once, to all threads. A
/// thread takes its own first, then others', in their order. Costs the same however many there are, where threads
/// complete what they have posted. Threads: all calls from any.
class Requests {
 public:
  void add(std::uint64_t handle, const PostedOperation& operation);
  /// Removes the earliest of a handle that `thread` has posted, or else the earliest, and returns it; a persistent one
  /// stays and is no longer active. Nothing for handles that are not known.
  [[nodiscard]] std::optional<PostedOperation> complete(std::uint64_t handle, const void* thread);
  /// As `complete`, and a persistent one goes too.
  [[nodiscard]] std::optional<PostedOperation> remove(std::uint64_t handle, const void* thread);
  /// Lets `change` alter the earliest of a handle, under a lock: it must be short. Whether there is one.
  template <class Change>
  bool alter(std::uint64_t handle, const Change& change) {
    Shard& shard = shard_of(handle);
    const std::lock_guard lock{shard.lock};
    const auto known = shard.chains.find(handle);
    if (known == shard.chains.end()) {
      return false;
    }
    change(known->second.first->operation);
    return true;
  }
  /// All, in no order. Under a lock.
  void for_each(const std::function<void(const PostedOperation&)>& visit);

 private:
  struct Node {
    PostedOperation operation;
    Node* next = nullptr;
  };
  /// The operations of one handle, the earliest first; at least one.
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
  [[nodiscard]] std::optional<PostedOperation> take(std::uint64_t handle, const void* thread, bool keeps_persistent);

  std::array<Shard, std::size_t{1} << shard_bits> shards_;
};

}  // namespace plait::record
