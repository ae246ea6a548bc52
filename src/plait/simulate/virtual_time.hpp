// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/base/executor.hpp"
#include "plait/base/id.hpp"
#include "plait/net/sim/sim.hpp"
#include "plait/simulate/task_costs.hpp"

namespace plait::simulate {

/// What a thread takes for what it computes between two waits, outside of tasks.
enum class OutsideCost : std::uint8_t {
  none,
  measured,  ///< What it takes on this machine, by `TaskCosts::scale`; then runs are not repeated exactly.
};

/// A rank whose tasks take longer from a time of the clock on.
struct SlowRank {
  Rank rank;
  nanoseconds since{};
  double factor = 2;  ///< By which the costs of its tasks grow; at least 1.
};

struct VirtualTimeOptions {
  OutsideCost outside = OutsideCost::none;
  /// The stack of each rank and of each further worker.
  std::size_t stack_bytes = std::size_t{512} * 1024;
  /// When every thread waits and nothing is under way, the clock advances by this, so that limits of waiting times are
  /// reached; after `idle_rounds_max` such steps the run ends with an error.
  nanoseconds idle_step = std::chrono::seconds{400};
  std::uint32_t idle_rounds_max = 4;
  /// A thread that reads the clock more often than `reads_max` without a wait polls it: each further reading takes
  /// `read_length` of the clock.
  std::uint32_t reads_max = 1000;
  nanoseconds read_length = std::chrono::microseconds{1};
  /// When threads go on more often than this without a task or an event of the network, the run ends with an error: a
  /// thread polls for what never comes.
  std::uint64_t resumes_max = 20'000'000;
  std::vector<SlowRank> slow_ranks;
  /// Describes what a rank waits for, in the errors of runs that are stuck: "a message of rank 3". May be empty, and so
  /// may be its result.
  std::function<std::string(Rank)> describe_wait;
  /// Called after every 4096 times that a thread went on; may be empty.
  std::function<void()> on_progress;
};

/// Runs the ranks of a program, and their workers, as fibers of the calling thread on the clock of a simulated network:
/// equal programs, costs and options give equal runs.
///
/// A fiber goes on at the time of the event that it waits for, in the order of the events. Threads: one.
class VirtualTime {
 public:
  /// `machine`: measures what has no cost of its own. Borrows `costs` and `machine`.
  VirtualTime(std::uint32_t rank_count, TaskCosts& costs, const Clock& machine, const VirtualTimeOptions& options = {});
  VirtualTime(const VirtualTime&) = delete;
  VirtualTime& operator=(const VirtualTime&) = delete;
  ~VirtualTime();

  /// By rank, for `net::SimOptions::executors`. They live as long as this.
  [[nodiscard]] std::vector<Executor*> executors() const;

  /// Runs `rank` once for each rank, until all have returned that have not failed. The threads of a rank that fails on
  /// the network do not go on; what they hold is neither destroyed nor freed. The network is one with these executors.
  ///
  /// Throws: the first exception of a rank, at once: what the other ranks hold is then neither destroyed nor freed;
  /// `Error` with `timeout` when ranks wait and nothing can happen, with what they wait for. Once.
  void run(net::SimNetwork& network, const std::function<void(Rank self)>& rank);

  /// The rank whose thread runs now; invalid outside of `run`.
  [[nodiscard]] Rank running() const noexcept;
  /// The time that the running thread reads: in a task whose cost is measured, with the time since its start. Expects:
  /// a rank's thread calls.
  [[nodiscard]] nanoseconds read_clock();
  /// As `read_clock`, and lets no other thread go on: for callers that may hold locks of other libraries.
  [[nodiscard]] nanoseconds peek_clock() const;
  /// Lets the running thread wait for a time of the clock. Expects: a rank's thread calls.
  void wait_for(nanoseconds length);
  /// What all threads were charged outside of tasks.
  [[nodiscard]] nanoseconds outside() const noexcept;
  /// How many tasks were executed.
  [[nodiscard]] std::uint64_t task_count() const noexcept;

 private:
  class Loop;
  class RankExecutor;

  std::unique_ptr<Loop> loop_;
};

}  // namespace plait::simulate
