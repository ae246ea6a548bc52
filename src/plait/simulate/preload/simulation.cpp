// SPDX-License-Identifier: Apache-2.0
#include "plait/simulate/preload/simulation.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "plait/base/error.hpp"
#include "plait/simulate/preload/real.hpp"

namespace plait::simulate {

namespace {

constexpr nanoseconds show_period = std::chrono::milliseconds{500};
/// Messages of bulk data share links in pieces of this size: large pieces cost less real time.
constexpr std::size_t chunk_bytes = std::size_t{1} << 20U;

constinit thread_local Simulation* carried = nullptr;

/// A clock of the machine, which this library hides from the ranks.
class MachineClock final : public Clock {
 public:
  explicit MachineClock(clockid_t clock) noexcept : clock_{clock} {}
  [[nodiscard]] nanoseconds now() const noexcept override {
    std::timespec time{};
    real_clock_gettime(clock_, &time);
    return std::chrono::seconds{time.tv_sec} + nanoseconds{time.tv_nsec};
  }

 private:
  clockid_t clock_;
};

std::optional<PlatformRoutes> routes_of(const SimulationSettings& settings) {
  return settings.platform ? std::optional<PlatformRoutes>{std::in_place, *settings.platform, settings.ranks}
                           : std::nullopt;
}

std::optional<Faults> faults_of(const SimulationSettings& settings, const std::optional<PlatformRoutes>& routes) {
  return settings.faults
             ? std::optional<Faults>{std::in_place, *settings.faults, settings.ranks, routes ? routes->link_count() : 0}
             : std::nullopt;
}

net::SimOptions network_options(const SimulationSettings& settings,
                                const std::optional<PlatformRoutes>& routes,
                                const std::optional<Faults>& faults) {
  net::SimOptions options;
  options.bulk_chunk_bytes = chunk_bytes;
  options.bulk_contents =
      settings.costs.bodies == BodyUse::skipped ? net::BulkContents::dropped : net::BulkContents::copied;
  options.routes = routes ? &*routes : nullptr;
  if (faults) {
    faults->put_into(options);
  }
  return options;
}

net::SimOptions with_executors(net::SimOptions options, const VirtualTime& time) {
  options.executors = time.executors();
  return options;
}

double seconds_of(nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

Simulation::Simulation(const SimulationSettings& settings)
    : settings_{settings},
      machine_{std::make_unique<MachineClock>(CLOCK_MONOTONIC)},
      processor_{std::make_unique<MachineClock>(CLOCK_THREAD_CPUTIME_ID)},
      started_{machine_->now()},
      costs_{settings.costs},
      routes_{routes_of(settings)},
      faults_{faults_of(settings, routes_)},
      filling_disk_{faults_ && faults_->full_disk() ? std::optional<FillingDisk>{*faults_->full_disk()} : std::nullopt},
      time_{settings.ranks,
            costs_,
            *processor_,
            {.outside = settings.outside,
             .stack_bytes = settings.stack_bytes,
             .slow_ranks = faults_ ? faults_->slow_ranks() : std::vector<SlowRank>{},
             .describe_wait = [this](Rank rank) { return messages_.describe_wait(rank); },
             .on_progress = [this] { show_progress(); }}},
      network_{settings.ranks, with_executors(network_options(settings, routes_, faults_), time_)},
      mpi_(settings.ranks),
      messages_{network_, time_.executors()},
      communicators_{settings.ranks},
      is_shown_{settings.is_progress_shown && isatty(STDERR_FILENO) != 0} {}

int Simulation::run(const std::function<int(Rank)>& rank) {
  std::vector<std::optional<int>> statuses(settings_.ranks);
  time_.run(network_, [&](Rank self) { statuses[self.value()] = rank(self); });
  if (is_shown_) {
    std::fputs("\r\033[K", stderr);
  }
  for (std::uint32_t self = 0; self < settings_.ranks; ++self) {
    if (!statuses[self]) {
      throw Error{ErrorCode::network, fmt::format("rank {} has died in this simulation", self), Rank{self}};
    }
  }
  const auto failed = std::ranges::find_if(statuses, [](const auto& status) { return *status != 0; });
  return failed != statuses.end() ? **failed : 0;
}

void Simulation::write_report() const {
  if (settings_.report.empty()) {
    return;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  nlohmann::json report{{"ranks", settings_.ranks},
                        {"simulated_s", seconds_of(network_.clock().now())},
                        {"real_s", seconds_of(machine_->now() - started_)},
                        {"outside_s", seconds_of(time_.outside())},
                        {"tasks", time_.task_count()},
                        {"memory_bytes", std::uint64_t{1024} * static_cast<std::uint64_t>(usage.ru_maxrss)},
                        {"measured", nlohmann::json::object()}};
  for (const auto& [kind, count] : costs_.measured()) {
    report["measured"][kind] = count;
  }
  std::ofstream out{settings_.report};
  out << report.dump(2) << '\n';
  if (!out.flush()) {
    throw Error{ErrorCode::io, fmt::format("{}: cannot be written", settings_.report.string())};
  }
}

void Simulation::show_progress() {
  if (const nanoseconds now = machine_->now(); is_shown_ && now - shown_ > show_period) {
    shown_ = now;
    fmt::print(stderr,
               "\r\033[K{} ranks: {:.4g} s simulated in {:.0f} s, {} tasks",
               settings_.ranks,
               seconds_of(network_.clock().now()),
               seconds_of(now - started_),
               time_.task_count());
  }
}

Simulation* simulation_of_caller() noexcept {
  return carried != nullptr && carried->time().running() ? carried : nullptr;
}

Carrying::Carrying(Simulation& simulation) noexcept {
  carried = &simulation;
}

Carrying::~Carrying() {
  carried = nullptr;
}

}  // namespace plait::simulate
