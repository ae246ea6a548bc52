// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "plait/trace/event.hpp"

namespace plait::task::detail {

class Lifecycle;
struct Node;
struct Worker;

/// The role of tasks: the functions called when one is ready, and when its operation is complete. A task has one role
/// at a time. A new role is an object of this type; those of the library are in run/detail/roles.cpp.
struct Role {
  std::string_view name;
  /// Called when the task is ready: queues it, posts its message, or does nothing if another thread notes its end.
  void (*ready)(Lifecycle& lifecycle, Worker& worker, Node& node);
  /// Called when a thread has noted the task (`SchedulerState::note`): its operation is complete.
  void (*noted)(Lifecycle& lifecycle, Worker& worker, Node& node);
  /// Describes what a ready task waits for; null: only for its locks and the tasks that it has spawned.
  std::string (*waits_for)(const Node& node) = nullptr;
  trace::TaskRole in_trace = trace::TaskRole::compute;
  bool is_message = false;    ///< Has a `NodeMessage`.
  bool leaves_record = true;  ///< In traces; what comes after a task without one names what came before it.

  static const Role compute;  ///< Is executed by a worker.
  static const Role join;     ///< Ends at once.
  static const Role send;     ///< Is posted, and ends when its message's buffer is released.
  static const Role receive;  ///< As `send`; then its body is executed, if it has one.
  static const Role event;    ///< Is not executed: ends when it is noted (`OpenRun::has_ended`).
  static const Role wait;     ///< Is executed, if it has a body, when it is noted.
};

/// The role of a task.
class RoleRef {
 public:
  RoleRef(const Role& role) noexcept : role_{&role} {}  // NOLINT(google-explicit-constructor)
  [[nodiscard]] const Role* operator->() const noexcept { return role_; }
  friend bool operator==(const RoleRef& left, const Role& right) noexcept { return left.role_ == &right; }

 private:
  const Role* role_;
};

}  // namespace plait::task::detail
