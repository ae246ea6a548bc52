// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/base/clock.hpp"
#include "plait/base/executor.hpp"
#include "plait/base/id.hpp"
#include "plait/comm/address.hpp"
#include "plait/comm/request.hpp"
#include "plait/task/body.hpp"
#include "plait/task/resource.hpp"

namespace plait::task {

namespace detail {
class Lifecycle;
struct Node;
struct Role;
struct SpawnedNode;
struct Worker;
}  // namespace detail

/// Describes a task that a running task spawns.
struct Spawn {
  TaskKind kind;
  Body body;
  std::uint64_t object = 0;
  /// Orders the task, as nothing is measured yet. Tasks with cost 0 and no resources run in last-in, first-out order
  /// on their worker.
  nanoseconds cost{};
  std::vector<Claim> resources;  ///< As `Task::locks`, or as `Task::shares`: `{&cell, Access::shared}`.
};

/// A message that a running task sends.
struct Outgoing {
  comm::Address to;
  std::span<const std::byte> data;  ///< Must stay unchanged until the task that sends it has ended.
  std::uint64_t object = 0;
};
/// A message that a running task receives.
struct Incoming {
  comm::Address from;
  Bytes& buffer;         ///< Is resized to the message.
  Body on_arrival = {};  ///< Runs on a worker after the message has arrived.
  std::uint64_t object = 0;
};

/// Gives a running task its place, and creates further tasks. Valid during the call of the body, in its thread.
class TaskContext {
 public:
  TaskContext(detail::Lifecycle& lifecycle, detail::Worker& worker, detail::Node& node) noexcept
      : lifecycle_{lifecycle}, worker_{worker}, node_{node} {}

  [[nodiscard]] WorkerId worker() const noexcept;
  /// Returns whether the kernel of a task runs that a front end keeps: on a virtual clock, costs alone may count.
  [[nodiscard]] BodyUse body_use() const noexcept;
  /// Returns how many workers sleep because they have no task. A hint, which misses workers that still poll.
  [[nodiscard]] std::uint32_t idle_workers() const noexcept;

  /// Adds a task to this run, ready at once. Successors of the running task also wait for the new one.
  void spawn(Spawn wish);
  void spawn(TaskKind kind, Body body) { spawn(Spawn{.kind = kind, .body = std::move(body)}); }

  /// Add a send or receive task to this run, as `spawn`. It occupies no worker. Both ranks must decide on equal data
  /// that the message exists. Sends of equal data that become ready together are one multicast.
  void send(TaskKind kind, const Outgoing& message);
  void receive(TaskKind kind, Incoming message);

  /// Adds a task to this run that ends with `operation`: a collective, another run (`Run::request`) or any other.
  /// `body`, if given, runs on a worker when the operation is complete, and the task ends after it.
  void wait_for(TaskKind kind, comm::Request operation, Body body = {});

  /// Continues the running task with `body` when its present body and all tasks that it has spawned have ended. `body`
  /// needs the same locks, runs on any worker, and may spawn and continue in turn. A second call replaces the first.
  void then(Body body);

 private:
  [[nodiscard]] detail::SpawnedNode& take(TaskKind kind, const detail::Role& role);
  [[nodiscard]] detail::SpawnedNode& take_message(TaskKind kind,
                                                  const detail::Role& role,
                                                  const comm::Address& address);
  void count(detail::SpawnedNode& node);

  detail::Lifecycle& lifecycle_;
  detail::Worker& worker_;
  detail::Node& node_;
};

}  // namespace plait::task
