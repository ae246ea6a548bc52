// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "plait/task/run/detail/scheduler_state.hpp"

namespace plait::task::detail {

/// Posts the messages of send and receive tasks when these are ready, and checks them when they are complete.
///
/// An error ends all runs. Threads: the worker's own.
class MessageTasks {
 public:
  explicit MessageTasks(SchedulerState& state) noexcept : state_{state} {}

  void post_receive(const Worker& worker, Node& node) noexcept;
  /// Posts the sends that have become ready together. Those of equal data with the same tag are one multicast.
  void post_sends(Worker& worker);
  /// Records a message that is complete. A truncated message is an error.
  void check(const Worker& worker, const Node& node) noexcept;

 private:
  void post_layout(NodeMessage& message);
  void post(std::span<NodeMessage* const> same);

  SchedulerState& state_;
};

}  // namespace plait::task::detail
