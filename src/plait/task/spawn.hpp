// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/base/clock.hpp"
#include "plait/comm/address.hpp"
#include "plait/task/body.hpp"
#include "plait/task/resource.hpp"

namespace plait::task {

/// What a new task is made of, when a running task spawns it.
struct Spawn {
  TaskKind kind;
  Body body;
  std::uint64_t object = 0;
  /// To order it by, as nothing is measured yet. With 0 and no resources, order does not matter: the last one that a
  /// worker has spawned runs first.
  nanoseconds cost{};
  std::vector<Claim> resources;  ///< As `Task::locks`, or as `Task::shares`: `{&cell, Access::shared}`.
};

/// A message that a running task sends or receives.
struct Outgoing {
  comm::Address to;
  std::span<const std::byte> data;  ///< Must stay unchanged until the task that sends it has ended.
  std::uint64_t object = 0;
};
struct Incoming {
  comm::Address from;
  Bytes& buffer;         ///< Is resized to the message.
  Body on_arrival = {};  ///< Runs, on a worker, after the message has come.
  std::uint64_t object = 0;
};

}  // namespace plait::task
