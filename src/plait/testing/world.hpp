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

/// The ranks of a test: threads of this process on a network of its own.
struct World {
  std::uint32_t ranks = 2;
  /// `LoopbackOptions`: as fast as memory. `SimOptions`: delays, reordering, full queues and failed ranks, drawn from
  /// a seed. The threads interleave freely, so a seed repeats the draws, not the run.
  std::variant<net::LoopbackOptions, net::SimOptions> network{};
  /// The test is stopped after this.
  std::chrono::milliseconds time_max{120'000};
};

/// Runs a rank's body, then makes progress until all bodies have returned. Throws on every rank when one has failed:
/// the exception must leave the rank function, so that what it made is destroyed without waiting for the failed rank.
using Perform = std::function<void(comm::Endpoint& messages, const std::function<void()>& body)>;

/// One rank from its driver to its end. Calls `perform` once.
using RankFunction = std::function<void(std::unique_ptr<net::Driver> driver, const Perform& perform)>;

/// Runs `rank` on a thread for each rank of `world`; returns what each threw, null for a rank that succeeded.
///
/// Nothing hangs: when the time is over, or a rank has failed and no data has moved for 5 s, every driver throws
/// `Error` with `timeout`, which ends all waits. Ranks that neither return nor poll for 10 s more end the process with
/// a message that names them.
[[nodiscard]] std::vector<std::exception_ptr> run_threads(const World& world, const RankFunction& rank);

/// The texts of what `run_threads` returned; empty for a rank that succeeded.
[[nodiscard]] std::vector<std::string> texts_of(const std::vector<std::exception_ptr>& errors);

/// Throws the error of the lowest rank that failed by itself; those that were stopped because of it come last.
void throw_first(const std::vector<std::exception_ptr>& errors);

}  // namespace plait::test
