// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/base/error.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/net/loopback/loopback.hpp"
#include "plait/task/scheduler.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::task::test {

/// One rank on a network, with what a flow or a collection needs of a runtime.
class FlowRank {
 public:
  FlowRank(std::unique_ptr<net::Driver> driver, const SchedulerOptions& options)
      : driver_{std::move(driver)}, scheduler_{endpoint_, recorder_, options} {}

  [[nodiscard]] comm::Endpoint& messages() noexcept { return endpoint_; }
  [[nodiscard]] Scheduler& scheduler() noexcept { return scheduler_; }
  [[nodiscard]] trace::Recorder& trace() noexcept { return recorder_; }
  [[nodiscard]] Rank self() const noexcept { return endpoint_.self(); }
  [[nodiscard]] std::uint32_t rank_count() const noexcept { return endpoint_.rank_count(); }

 private:
  SteadyClock clock_;
  trace::Recorder recorder_{clock_};
  std::unique_ptr<net::Driver> driver_;
  comm::Endpoint endpoint_{*driver_, recorder_};
  Scheduler scheduler_;
};

/// Runs `body` as every rank, a thread each; what each rank threw, or nothing.
inline std::vector<std::string> errors_of_ranks(std::uint32_t rank_count,
                                                const SchedulerOptions& options,
                                                const std::function<void(FlowRank&)>& body) {
  net::LoopbackNetwork network{rank_count};
  std::vector<std::string> errors(rank_count);
  {
    std::vector<std::unique_ptr<FlowRank>> ranks;  // all stay until the last has ended
    for (std::uint32_t rank = 0; rank < rank_count; ++rank) {
      ranks.push_back(std::make_unique<FlowRank>(network.driver(Rank{rank}), options));
    }
    std::vector<std::jthread> threads;
    for (std::uint32_t rank = 0; rank < rank_count; ++rank) {
      threads.emplace_back([&, rank] {
        try {
          body(*ranks[rank]);
          ranks[rank]->messages().drain();
        } catch (const std::exception& error) {
          errors[rank] = error.what();
        }
      });
    }
  }
  return errors;
}

/// As above. Throws what the first rank that threw has thrown.
inline void run_ranks(std::uint32_t rank_count,
                      const SchedulerOptions& options,
                      const std::function<void(FlowRank&)>& body) {
  for (const std::string& error : errors_of_ranks(rank_count, options, body)) {
    if (!error.empty()) {
      throw Error{ErrorCode::user_task, error};
    }
  }
}

}  // namespace plait::task::test
