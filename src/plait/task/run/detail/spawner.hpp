// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/comm/request.hpp"
#include "plait/task/run/detail/scheduler_state.hpp"
#include "plait/task/spawn.hpp"

namespace plait::task::detail {

class Lifecycle;
class Queues;

/// Makes tasks that a running task, their parent, asks for: what waits for the parent waits for them, too.
/// Threads: the worker's own.
class Spawner {
 public:
  Spawner(SchedulerState& state, Queues& queues, Lifecycle& lifecycle) noexcept
      : state_{state}, queues_{queues}, lifecycle_{lifecycle} {}

  void spawn(Worker& worker, Node& parent, Spawn&& wish);
  /// The message is posted when the running body has ended, together with others of the same data.
  void send(Worker& worker, Node& parent, TaskKind kind, const Outgoing& outgoing);
  void receive(Worker& worker, Node& parent, TaskKind kind, Incoming incoming);
  void wait(Worker& worker, Node& parent, TaskKind kind, comm::Request request, Body body);

  [[nodiscard]] const SchedulerState& state() const noexcept { return state_; }

 private:
  [[nodiscard]] static SpawnedNode& take(Worker& worker, Node& parent, TaskKind kind, const Role& role);
  void count(Worker& worker, Node& parent, SpawnedNode& node);
  [[nodiscard]] SpawnedNode& take_message(
      Worker& worker, Node& parent, TaskKind kind, const Role& role, const comm::Address& address);

  SchedulerState& state_;
  Queues& queues_;
  Lifecycle& lifecycle_;
};

}  // namespace plait::task::detail
