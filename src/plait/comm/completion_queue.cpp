// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/completion_queue.hpp"

#include <mutex>

namespace plait::comm {

/// Ends itself with its operation.
class CompletionQueue::Entry final : public Completion {
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

Completion* CompletionQueue::entry(std::uint64_t name) {
  return new Entry{*this, name};
}

std::optional<Completed> CompletionQueue::pop() {
  const std::lock_guard lock{mutex_};
  if (completed_.empty()) {
    return {};
  }
  const Completed first = completed_.front();
  completed_.pop_front();
  return first;
}

}  // namespace plait::comm
