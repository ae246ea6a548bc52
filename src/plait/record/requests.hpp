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

#include "plait/base/clock.hpp"
#include "plait/base/spin_lock.hpp"
#include "plait/record/communicators.hpp"
#include "plait/trace/event.hpp"

namespace plait::record {

enum class OperationKind : std::uint8_t { send, receive, collective, other };

/// What a request of the program stands for.
struct Operation {
  OperationKind kind = OperationKind::other;
  bool is_persistent = false;  ///< Stays when it completes; begins when started.
  bool is_active = true;       ///< Not of a persistent one between its rounds.
  bool is_to_be_cancelled = false;
  std::uint32_t communicator = trace::nothing;
  std::uint32_t peer = trace::nothing;  ///< A rank of the run; none of a receive from any, until it is complete.
  std::uint32_t number = 0;             ///< Of the call that posted it.
  trace::NameId function;               ///< Of that call.
  trace::NameId site;
  const void* lane = nullptr;  ///< Of the thread that posted it.
  std::uint32_t count = 0;     ///< Of a collective, as in its call.
  int tag = 0;
  std::uint64_t bytes = 0;      ///< Of a send, and what a collective gives.
  std::uint64_t bytes_got = 0;  ///< What a collective gets.
  nanoseconds posted{};
  /// To know the source of a receive from any, and the rounds of a persistent collective.
  std::shared_ptr<Communicator> members;
};

/// The operations that the program has begun and not been told the end of, by their requests.
///
/// A handle may stand for several: MPI libraries give one to all sends that are complete at once, to all threads. A
/// thread takes its own first, then others', in their order. Costs the same however many there are, where threads
/// complete what they have posted. Threads: all calls from any.
class Requests {
 public:
  Requests();

  void add(std::uint64_t handle, const Operation& operation);
  /// Removes the earliest of a handle that `lane` has posted, or else the earliest, and returns it; a persistent one
  /// stays and is no longer active. Nothing for handles that are not known.
  [[nodiscard]] std::optional<Operation> complete(std::uint64_t handle, const void* lane);
  /// As `complete`, and a persistent one goes too.
  [[nodiscard]] std::optional<Operation> remove(std::uint64_t handle, const void* lane);
  /// Lets `change` alter the earliest of a handle, under a lock: it must be short. Whether there is one.
  template <class Change>
  bool alter(std::uint64_t handle, const Change& change) {
    Shard& shard = shard_of(handle);
    const std::lock_guard lock{shard.lock};
    Slot* slot = shard.find(handle);
    if (slot == nullptr) {
      return false;
    }
    change(slot->first->operation);
    return true;
  }
  /// All, in no order. Under a lock.
  void for_each(const std::function<void(const Operation&)>& look);

 private:
  struct Node {
    Operation operation;
    Node* next = nullptr;
  };
  /// The operations of one handle, the earliest first.
  struct Slot {
    std::uint64_t handle = 0;
    Node* first = nullptr;  ///< Nothing where the slot is free.
    Node* last = nullptr;
  };
  /// A part of the table with a lock of its own: open addressing, at most half full.
  struct alignas(64) Shard {
    SpinLock lock;
    std::vector<Slot> slots;
    std::size_t used = 0;
    Node* spare = nullptr;
    std::vector<std::unique_ptr<Node[]>> blocks;

    [[nodiscard]] Slot* find(std::uint64_t handle) noexcept;
    [[nodiscard]] Slot& find_or_make(std::uint64_t handle);
    void erase(Slot& slot) noexcept;
    void grow();
    [[nodiscard]] Node* take_spare();
  };
  static constexpr std::size_t shard_bits = 4;

  [[nodiscard]] Shard& shard_of(std::uint64_t handle) noexcept;
  [[nodiscard]] std::optional<Operation> take(std::uint64_t handle, const void* lane, bool keeps_persistent);

  std::array<Shard, std::size_t{1} << shard_bits> shards_;
};

}  // namespace plait::record
