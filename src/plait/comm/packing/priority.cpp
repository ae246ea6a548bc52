// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <vector>

#include "plait/comm/detail/waiting_list.hpp"
#include "plait/comm/packing.hpp"

namespace plait::comm {

namespace {

/// The waiting messages of one communicator, in order, and their number by priority.
struct Queue {
  CommId comm;
  detail::WaitingList waiting;
  std::map<std::int16_t, std::size_t> priorities;

  /// Messages of one communicator do not overtake each other: the oldest has the urgency of the most urgent.
  [[nodiscard]] std::int16_t urgency() const { return priorities.rbegin()->first; }
};

class Priority final : public Packing {
 public:
  bool gathers() const noexcept override { return true; }

  void add(WaitingMessage& message) override {
    auto queue = std::ranges::find(queues_, message.comm, &Queue::comm);
    if (queue == queues_.end()) {
      queue = queues_.insert(queue, Queue{message.comm, {}, {}});
    }
    queue->waiting.push(message);
    ++queue->priorities[message.priority];
  }

  WaitingMessage* front(std::size_t /*packed*/) const override {
    return queues_.empty() ? nullptr : queues_[most_urgent()].waiting.front();
  }

  void pop() override {
    const std::size_t index = most_urgent();
    Queue& queue = queues_[index];
    const auto entry = queue.priorities.find(queue.waiting.pop()->priority);
    if (--entry->second == 0) {
      queue.priorities.erase(entry);
    }
    if (queue.waiting.is_empty()) {
      queues_.erase(queues_.begin() + static_cast<std::ptrdiff_t>(index));
    }
  }

  bool is_empty() const noexcept override { return queues_.empty(); }

 private:
  /// Of equally urgent ones, the one that has waited longest.
  [[nodiscard]] std::size_t most_urgent() const {
    const auto best = std::ranges::max_element(queues_, {}, &Queue::urgency);
    return static_cast<std::size_t>(best - queues_.begin());
  }

  std::vector<Queue> queues_;  ///< Those with messages; few.
};

}  // namespace

std::unique_ptr<Packing> make_priority_packing() {
  return std::make_unique<Priority>();
}

}  // namespace plait::comm
