// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "plait/replay/detail/run_builder.hpp"
#include "plait/replay/predict/predict_tasks.hpp"

namespace plait::replay {

using std::chrono::microseconds;

/// A run of tasks written down by hand: a program on each rank that starts what waits for nothing else.
class TaskGraphs {
 public:
  explicit TaskGraphs(std::uint32_t ranks, std::uint32_t workers = 1) : ranks_{ranks}, workers_{workers} {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      builder_.add({.role = NodeRole::program, .rank = rank});
    }
  }

  /// A task of a graph, of a kind of its own unless one is named.
  std::uint32_t task(std::uint32_t rank, microseconds took, const std::string& kind = "task") {
    return add({.role = NodeRole::task, .rank = rank, .kind = builder_.kind(kind), .took = took});
  }
  std::uint32_t join(std::uint32_t rank) { return add({.role = NodeRole::join, .rank = rank}); }
  /// A message of so many bytes; the nodes that send and receive it.
  std::pair<std::uint32_t, std::uint32_t> message(std::uint32_t from, std::uint32_t to, std::uint64_t bytes) {
    const std::uint32_t send = add({.role = NodeRole::send, .rank = from});
    const std::uint32_t receive = add({.role = NodeRole::receive, .rank = to});
    builder_.message({.send = send, .receive = receive, .bytes = bytes});
    return {send, receive};
  }
  void order(std::uint32_t earlier, std::uint32_t later) { builder_.order(earlier, later); }
  [[nodiscard]] detail::RunBuilder& builder() { return builder_; }

  [[nodiscard]] TaskRun get() {
    for (std::uint32_t node = ranks_; node < builder_.size(); ++node) {
      if (!builder_.is_ordered(node)) {
        builder_.order(builder_[node].rank, node);
      }
    }
    TaskRun run = builder_.finish();
    run.ranks = ranks_;
    run.workers = workers_;
    return run;
  }

 private:
  std::uint32_t add(RunNode node) {
    node.identity = builder_.new_identity();
    return builder_.add(node);
  }

  detail::RunBuilder builder_;
  std::uint32_t ranks_;
  std::uint32_t workers_;
};

/// A network of 10 us and 1 ns a byte; all messages are eager.
inline Platform simple_network() {
  Platform platform;
  platform.progress = ProgressModel::ideal;
  platform.within_host = {.latency_ns = 10'000, .gap_per_byte_ns = 1, .eager_bytes_max = 1 << 30};
  platform.between_hosts = platform.within_host;
  return platform;
}

}  // namespace plait::replay
