// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

#include "plait/base/id.hpp"
#include "plait/comm/request.hpp"
#include "plait/task/body.hpp"
#include "plait/task/spawn.hpp"

namespace plait::task {

namespace detail {
class Spawner;
struct Node;
struct Worker;
}  // namespace detail

/// What a running task knows of where it runs, and the way to make more tasks. Valid during the body's call, in its
/// thread.
class TaskContext {
 public:
  TaskContext(detail::Spawner& spawner, detail::Worker& worker, detail::Node& node) noexcept
      : spawner_{spawner}, worker_{worker}, node_{node} {}

  [[nodiscard]] WorkerId worker() const noexcept;
  /// How many workers sleep for want of work. A hint, out of date when it returns; those that still poll are missing.
  [[nodiscard]] std::uint32_t idle_workers() const noexcept;

  /// Adds a task to this run, ready at once. What is after the running task waits for the new one, too.
  void spawn(Spawn wish);
  void spawn(TaskKind kind, Body body) { spawn(Spawn{.kind = kind, .body = std::move(body)}); }

  /// Sends and receives as tasks of this run that were not planned: what is after the running task waits for them, too.
  /// They occupy no worker. Both ranks of a message must come to the same conclusion that there is one.
  void send(TaskKind kind, const Outgoing& message);
  void receive(TaskKind kind, Incoming message);

  /// A task of this run that ends with `operation`: a collective, another run (`Run::request`) or any other; and with
  /// `body`, if there is one, which runs on a worker when the operation is complete.
  void wait_for(TaskKind kind, comm::Request operation, Body body = {});

  /// When this body and all that the task has spawned have ended, `body` runs as the rest of this task, with the same
  /// locks, on any worker; it may spawn and go on itself. A second call replaces the first.
  void then(Body body);

 private:
  detail::Spawner& spawner_;
  detail::Worker& worker_;
  detail::Node& node_;
};

}  // namespace plait::task
