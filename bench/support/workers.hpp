// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "plait/comm/endpoint.hpp"
#include "plait/net/loopback/loopback.hpp"
#include "plait/task/scheduler.hpp"
#include "plait/trace/recorder.hpp"

namespace bench {

/// Workers of one rank that is alone, without MPI.
class Workers {
 public:
  explicit Workers(std::uint32_t count) : scheduler_{endpoint_, recorder_, {.worker_count = count}} {}
  [[nodiscard]] plait::task::Scheduler& scheduler() { return scheduler_; }
  [[nodiscard]] plait::comm::Endpoint& messages() { return endpoint_; }

 private:
  plait::SteadyClock clock_;
  plait::trace::Recorder recorder_{clock_};
  plait::net::LoopbackNetwork network_{1};
  std::unique_ptr<plait::net::Driver> driver_{network_.driver(plait::Rank{0})};
  plait::comm::Endpoint endpoint_{*driver_, recorder_};
  plait::task::Scheduler scheduler_;
};

}  // namespace bench
