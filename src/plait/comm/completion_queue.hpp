// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "plait/base/spin_lock.hpp"
#include "plait/comm/completion.hpp"

namespace plait::comm {

/// A complete operation, and its name in the program.
struct Completed {
  std::uint64_t name = 0;
  Status status;
};

/// Collects completions of many operations, for any number of threads.
///
///     endpoint.receive(from, buffer, queue.entry(17));
///     while (auto one = queue.pop()) { ... one->name ... }
///
/// Threads: any. Must outlive the operations. Cost: an allocation and a short lock for each operation.
class CompletionQueue {
 public:
  /// Returns the completion for one operation, which must be posted with it and ends with it.
  [[nodiscard]] Completion* entry(std::uint64_t name) { return new Entry{*this, name}; }

  /// Takes the oldest completion, if there is one. Makes no progress.
  [[nodiscard]] std::optional<Completed> pop() {
    const std::lock_guard lock{mutex_};
    if (completed_.empty()) {
      return {};
    }
    const Completed first = completed_.front();
    completed_.pop_front();
    return first;
  }

 private:
  /// Ends itself with its operation.
  class Entry final : public Completion {
   public:
    Entry(CompletionQueue& queue, std::uint64_t name) : queue_{queue}, name_{name} {}

    void completed(const Status& status) noexcept override {
      const std::lock_guard lock{queue_.mutex_};
      queue_.completed_.push_back({name_, status});
    }
    void released(const Status& /*status*/) noexcept override { delete this; }

   private:
    CompletionQueue& queue_;
    std::uint64_t name_;
  };

  SpinLock mutex_;
  std::deque<Completed> completed_;
};

}  // namespace plait::comm
