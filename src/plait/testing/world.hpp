// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "plait/comm/endpoint.hpp"
#include "plait/net/driver.hpp"
#include "plait/net/loopback/loopback.hpp"
#include "plait/net/sim/sim.hpp"

namespace plait::test {

/// The ranks of a test, which are threads of this process, and their network.
struct World {
  std::uint32_t ranks = 2;
  /// `LoopbackOptions`: as fast as memory. `SimOptions`: delays, reordering, full queues and failed ranks from a seed.
  /// As threads interleave freely, a seed repeats the random numbers, not the run.
  std::variant<net::LoopbackOptions, net::SimOptions> network{};
  /// Time limit of the test.
  std::chrono::milliseconds time_max{120'000};
};

/// Runs a rank's body when all ranks have come to theirs, so that no body's error meets a rank that is being set up;
/// then makes progress until all bodies have returned. Throws on every rank when one has failed;
/// the exception must leave the rank function, so that its objects are destroyed without waiting for the failed rank.
using Perform = std::function<void(comm::Endpoint& messages, const std::function<void()>& body)>;

/// One rank from its driver to its end. Calls `perform` once.
using RankFunction = std::function<void(std::unique_ptr<net::Driver> driver, const Perform& perform)>;

/// Runs `rank` on a thread for each rank of `world`. Returns their exceptions, null for a rank that succeeded.
///
/// After `time_max`, or when a rank has failed and no data has moved for 5 s, every driver throws `Error` with
/// `timeout`, which ends all waits. When ranks neither return nor poll for another 10 s, the process ends with a
/// message that names them.
[[nodiscard]] std::vector<std::exception_ptr> run_threads(const World& world, const RankFunction& rank);

/// The messages of exceptions of `run_threads`; empty for a rank that succeeded.
[[nodiscard]] std::vector<std::string> texts_of(const std::vector<std::exception_ptr>& errors);

/// Throws the error of the lowest rank that failed by itself, rather than of one that was stopped because of it.
void throw_first(const std::vector<std::exception_ptr>& errors);

}  // namespace plait::test
