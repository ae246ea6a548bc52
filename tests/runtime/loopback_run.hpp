// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "plait/net/loopback/loopback.hpp"
#include "plait/runtime/runtime.hpp"

namespace plait::test {

/// Runs `body` as every rank of a parallel program: one thread and one runtime each, on a loopback network.
/// Throws again what the lowest rank threw.
inline void run_on_loopback(std::uint32_t rank_count,
                            const Options& options,
                            const std::function<void(Runtime&)>& body) {
  net::LoopbackNetwork network{rank_count};
  std::vector<std::exception_ptr> thrown(rank_count);
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t rank = 0; rank < rank_count; ++rank) {
      threads.emplace_back([&, rank] {
        try {
          Runtime runtime{network.driver(Rank{rank}), options};
          body(runtime);
        } catch (...) {
          thrown[rank] = std::current_exception();
        }
      });
    }
  }
  for (const std::exception_ptr& one : thrown) {
    if (one) {
      std::rethrow_exception(one);
    }
  }
}

}  // namespace plait::test
