// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include "plait/base/error.hpp"
#include "plait/comm/activity.hpp"
#include "plait/comm/detail/handlers.hpp"
#include "plait/comm/detail/message_trace.hpp"
#include "plait/comm/detail/operation.hpp"
#include "plait/comm/wire.hpp"

namespace plait::comm::detail {

/// The operations of an engine from their start to their completion and release.
///
/// Lists completed and released operations; the endpoint notifies of them without its lock. Threads: one at a time.
class Completions {
 public:
  /// `activity` shows the counts to threads without the endpoint's lock.
  Completions(Rank self, MessageTrace& trace, ArrivedActives& actives, Activity& activity)
      : self_{self}, trace_{trace}, actives_{actives}, activity_{activity} {}

  /// Counts `operation` as outstanding from now on.
  void start(Operation& operation) {
    outstanding_ += 1;
    internal_ += operation.is_internal ? 1 : 0;
    activity_.note_outstanding(outstanding_, internal_);
    operation.posted = trace_.now();
  }
  /// Counts it no more: a receive was cancelled.
  void withdraw() noexcept { activity_.note_outstanding(--outstanding_, internal_); }

  /// Assigns a message to a receive and resizes its buffer. False when it does not fit: completes it with the error.
  [[nodiscard]] bool accept(Operation& operation, const wire::Header& header);
  /// Lists the operation as complete, with a message of `bytes`. Queues a received active message for its handler. The
  /// last forward of a message releases its source.
  void complete(Operation& operation, std::size_t bytes, std::optional<ErrorCode> error = {});

  /// Operations that have started and not completed.
  [[nodiscard]] std::size_t outstanding_count() const noexcept { return outstanding_; }
  /// The operations that have completed, or whose buffer was released, since the last call: linked, oldest first.
  [[nodiscard]] Operation* take_completed() noexcept { return std::exchange(completed_.first, nullptr); }
  [[nodiscard]] Operation* take_released() noexcept { return std::exchange(released_.first, nullptr); }

 private:
  struct List {
    Operation* first = nullptr;
    Operation* last = nullptr;
  };
  static void append(List& list, Operation& operation, Operation* Operation::* next) noexcept {
    operation.*next = nullptr;
    (list.first == nullptr ? list.first : list.last->*next) = &operation;
    list.last = &operation;
  }
  void end_forward(Operation& source, Operation& forward);

  const Rank self_;
  MessageTrace& trace_;
  ArrivedActives& actives_;
  Activity& activity_;
  List completed_;
  List released_;
  std::size_t outstanding_ = 0;
  std::size_t internal_ = 0;  ///< Those that the engine itself has made, for which no thread of the program waits.
};

}  // namespace plait::comm::detail
