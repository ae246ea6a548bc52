// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "plait/comm/completion.hpp"

namespace plait::comm::detail {

/// How long an operation uses a completion.
enum class Interest : std::uint8_t {
  until_released,   ///< Until `released`, in which it may end.
  until_completed,  ///< Until `completed`, in which it may end; `released` is not called.
  owned,            ///< As the first, and the operation deletes it, also when it never completes.
};

/// The completions that are notified of one operation, in the order of attachment. The first needs no allocation.
///
/// Threads: any for `attach` and `has_completed`; one at a time for the others, `release` after `complete`.
class Observers {
 public:
  Observers() = default;
  Observers(const Observers&) = delete;
  Observers& operator=(const Observers&) = delete;
  /// Deletes the owned completions that were never notified; touches no others.
  ~Observers();

  /// False, and nothing, when the operation has completed.
  [[nodiscard]] bool attach(Completion& completion, Interest interest);
  [[nodiscard]] bool has_completed() const noexcept {
    return head_.load(std::memory_order_acquire) == &completed_mark;  // with complete()
  }

  /// Publishes what was written before, and notifies all of the completion.
  void complete(const Status& status) noexcept {
    // Releases status and data to has_completed() and attach(), acquires the nodes from attach().
    if (Node* const list = head_.exchange(&completed_mark, std::memory_order_acq_rel)) {
      notify_completion(list, status);
    }
  }
  /// Notifies those that remain of the release.
  void release(const Status& status) noexcept {
    if (to_release_ != nullptr) {
      notify_release(status);
    }
  }

 private:
  struct Node {
    Completion* completion = nullptr;
    Node* next = nullptr;
    Interest interest = Interest::until_released;
  };
  static Node completed_mark;
  [[nodiscard]] static Node* reversed(Node* list) noexcept;
  void notify_completion(Node* list, const Status& status) noexcept;
  void notify_release(const Status& status) noexcept;
  void end(Node* node) noexcept;

  std::atomic<Node*> head_ = nullptr;  ///< The last attached one first; the mark after completion.
  std::atomic<bool> is_first_used_ = false;
  Node first_;
  Node* to_release_ = nullptr;
};

}  // namespace plait::comm::detail
