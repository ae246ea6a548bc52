// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "plait/base/spin_lock.hpp"
#include "plait/comm/completion.hpp"

namespace plait::comm {

/// An operation that has completed, and its name in the program.
struct Completed {
  std::uint64_t name = 0;
  Status status;
};

/// Collects completions of many operations, for one or more threads that take them one by one.
///
///     endpoint.receive(from, buffer, queue.entry(17));
///     while (auto one = queue.pop()) { ... one->name ... }
///
/// Threads: any. Must outlive the operations. Cost: an allocation and a short lock an operation.
class CompletionQueue {
 public:
  /// The completion for one operation, which must be posted with it: it ends with that operation.
  [[nodiscard]] Completion* entry(std::uint64_t name);

  /// The oldest completion that was not taken yet. Makes no progress.
  [[nodiscard]] std::optional<Completed> pop();

 private:
  class Entry;

  SpinLock mutex_;
  std::deque<Completed> completed_;
};

}  // namespace plait::comm
