// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/task/scheduler.hpp"
#include "plait/testing/world.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::test {

/// One rank without a runtime: an endpoint and a scheduler, which is what libraries below the runtime need.
class LocalRank {
 public:
  explicit LocalRank(std::unique_ptr<net::Driver> driver, const task::SchedulerOptions& options = {})
      : driver_{std::move(driver)}, scheduler_{endpoint_, recorder_, options} {}

  [[nodiscard]] comm::Endpoint& messages() noexcept { return endpoint_; }
  [[nodiscard]] task::Scheduler& scheduler() noexcept { return scheduler_; }
  [[nodiscard]] trace::Recorder& trace() noexcept { return recorder_; }
  [[nodiscard]] Rank self() const noexcept { return endpoint_.self(); }
  [[nodiscard]] std::uint32_t rank_count() const noexcept { return endpoint_.rank_count(); }

 private:
  SteadyClock clock_;
  trace::Recorder recorder_{clock_};
  std::unique_ptr<net::Driver> driver_;
  comm::Endpoint endpoint_{*driver_, recorder_};
  task::Scheduler scheduler_;
};

/// Runs `body` as every rank; returns the text of what each threw, empty for a rank that succeeded. A rank that has
/// failed goes on making progress until the others have returned.
[[nodiscard]] std::vector<std::string> errors_on_ranks(const World& world,
                                                       const task::SchedulerOptions& options,
                                                       const std::function<void(LocalRank&)>& body);

/// Runs `body` as every rank. Throws what the lowest rank that failed has thrown.
void run_on_ranks(const World& world,
                  const task::SchedulerOptions& options,
                  const std::function<void(LocalRank&)>& body);
inline void run_on_ranks(const World& world, const std::function<void(LocalRank&)>& body) {
  run_on_ranks(world, {}, body);
}

}  // namespace plait::test
