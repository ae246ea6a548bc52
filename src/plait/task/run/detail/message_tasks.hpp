// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "plait/task/run/detail/scheduler_state.hpp"

namespace plait::task::detail {

/// The messages of send and receive tasks: posted when their tasks are ready, checked when they are complete.
/// Errors end the run. Threads: the worker's own.
class MessageTasks {
 public:
  explicit MessageTasks(SchedulerState& state) noexcept : state_{state} {}

  void post_receive(const Worker& worker, Node& node) noexcept;
  /// Posts the sends that have become ready together. Those of the same data with the same tag are one multicast.
  void post_sends(Worker& worker);
  /// Records a message that is complete; an error if it was truncated.
  void check(const Worker& worker, const Node& node) noexcept;

 private:
  void post(std::span<NodeMessage* const> same);

  SchedulerState& state_;
};

/// In words: rank and tag.
[[nodiscard]] std::string name_of(const comm::Address& address);

}  // namespace plait::task::detail
