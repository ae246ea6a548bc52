// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/base/id.hpp"
#include "plait/net/sim/sim.hpp"
#include "plait/simulate/faults.hpp"
#include "plait/simulate/filling_disk.hpp"
#include "plait/simulate/platform_routes.hpp"
#include "plait/simulate/preload/communicators.hpp"
#include "plait/simulate/preload/messages.hpp"
#include "plait/simulate/settings.hpp"
#include "plait/simulate/task_costs.hpp"
#include "plait/simulate/virtual_time.hpp"

namespace plait::simulate {

/// What MPI knows of one rank.
struct MpiState {
  bool is_initialized = false;
  bool is_finalized = false;
  int thread_level = 0;
};

/// The ranks of the program into which this library was preloaded.
class Simulation {
 public:
  /// Throws: `Error` with `bad_input` when the ranks do not fit on the platform.
  explicit Simulation(const SimulationSettings& settings);
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;
  ~Simulation() = default;

  /// Calls `rank` as each rank, which returns an exit status. Returns the status of the lowest rank that failed, or 0.
  /// Throws: as `VirtualTime::run`; `Error` with `network` when a rank has died.
  int run(const std::function<int(Rank)>& rank);
  /// Writes what was simulated to the file that the settings name. Throws: `Error` with `io`.
  void write_report() const;

  /// Null: the run has none.
  [[nodiscard]] const Faults* faults() const noexcept { return faults_ ? &*faults_ : nullptr; }
  /// Null: no disk becomes full.
  [[nodiscard]] FillingDisk* filling_disk() noexcept { return filling_disk_ ? &*filling_disk_ : nullptr; }
  [[nodiscard]] std::uint32_t rank_count() const noexcept { return network_.rank_count(); }
  [[nodiscard]] VirtualTime& time() noexcept { return time_; }
  [[nodiscard]] net::SimNetwork& network() noexcept { return network_; }
  /// Of the running rank.
  [[nodiscard]] MpiState& mpi() { return mpi_[time_.running().value()]; }
  /// The number of the host of the running rank.
  [[nodiscard]] std::uint32_t host_of_caller() const noexcept {
    return time_.running().value() / (settings_.platform ? settings_.platform->ranks_per_host : 1);
  }
  [[nodiscard]] Messages& messages() noexcept { return messages_; }
  [[nodiscard]] SimulatedCommunicators& communicators() noexcept { return communicators_; }

 private:
  void show_progress();

  const SimulationSettings settings_;
  const std::unique_ptr<Clock> machine_;
  const std::unique_ptr<Clock> processor_;  ///< Measures what ranks compute: the time of the thread alone.
  const nanoseconds started_;
  TaskCosts costs_;
  const std::optional<PlatformRoutes> routes_;
  const std::optional<Faults> faults_;
  std::optional<FillingDisk> filling_disk_;
  VirtualTime time_;
  net::SimNetwork network_;
  std::vector<MpiState> mpi_;
  Messages messages_;
  SimulatedCommunicators communicators_;
  nanoseconds shown_{};
  bool is_shown_ = false;
};

/// The simulation of this process while a thread of one of its ranks calls; null for other threads, and when the
/// process is not simulated.
[[nodiscard]] Simulation* simulation_of_caller() noexcept;

/// As the thread that carries the ranks of `simulation`, for a scope.
class Carrying {
 public:
  explicit Carrying(Simulation& simulation) noexcept;
  Carrying(const Carrying&) = delete;
  Carrying& operator=(const Carrying&) = delete;
  ~Carrying();
};

}  // namespace plait::simulate
