// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
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

/// One rank without a runtime: an endpoint and a scheduler, for tests of libraries below the runtime.
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

namespace detail {

inline std::vector<std::exception_ptr> run(const World& world,
                                           const task::SchedulerOptions& options,
                                           const std::function<void(LocalRank&)>& body) {
  return run_threads(world, [&](std::unique_ptr<net::Driver> driver, const Perform& perform) {
    LocalRank rank{std::move(driver), options};
    perform(rank.messages(), [&] { body(rank); });
  });
}

}  // namespace detail

/// Runs `body` as every rank. Returns the error message of each rank, empty for one that succeeded. A failed rank makes
/// progress until the others have returned.
[[nodiscard]] inline std::vector<std::string> errors_on_ranks(const World& world,
                                                              const task::SchedulerOptions& options,
                                                              const std::function<void(LocalRank&)>& body) {
  return texts_of(detail::run(world, options, body));
}

/// Runs `body` as every rank. Throws the exception of the lowest rank that failed.
inline void run_on_ranks(const World& world,
                         const task::SchedulerOptions& options,
                         const std::function<void(LocalRank&)>& body) {
  throw_first(detail::run(world, options, body));
}
inline void run_on_ranks(const World& world, const std::function<void(LocalRank&)>& body) {
  run_on_ranks(world, {}, body);
}

}  // namespace plait::test
