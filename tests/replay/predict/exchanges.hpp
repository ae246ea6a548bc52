// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "plait/replay/predict/platform.hpp"
#include "plait/replay/schedule.hpp"

namespace plait::replay::testing {

/// Writes a schedule operation by operation; each rank has one stream.
class Exchange {
 public:
  explicit Exchange(std::uint32_t ranks) {
    schedule.ranks.resize(ranks);
    for (RankSchedule& rank : schedule.ranks) {
      rank.streams.resize(1);
    }
  }

  std::uint32_t send(std::uint32_t from, std::uint32_t to, std::uint64_t bytes, std::uint64_t tag = 0) {
    return add(from, {.action = Action::send, .peer = to, .tag = tag, .bytes = bytes});
  }
  std::uint32_t receive(std::uint32_t to, std::uint32_t from, std::uint64_t bytes, std::uint64_t tag = 0) {
    return add(to, {.action = Action::receive, .peer = from, .tag = tag, .bytes = bytes});
  }
  void compute(std::uint32_t rank, std::int64_t ns) {
    add(rank, {.action = Action::compute, .took = std::chrono::nanoseconds{ns}});
  }
  void poll(std::uint32_t rank) { add(rank, {.action = Action::poll}); }
  std::uint32_t collective(std::uint32_t rank, Operation operation) {
    operation.action = Action::collective;
    return add(rank, operation);
  }
  void wait(std::uint32_t rank, const std::vector<std::uint32_t>& operations) {
    Stream& stream = schedule.ranks[rank].streams[0];
    const auto first = static_cast<std::uint32_t>(stream.waited.size());
    stream.waited.insert(stream.waited.end(), operations.begin(), operations.end());
    add(rank, {.action = Action::wait, .first = first, .count = static_cast<std::uint32_t>(operations.size())});
  }
  /// For all that the rank has begun.
  void wait_for_all(std::uint32_t rank) {
    std::vector<std::uint32_t> begun;
    const Stream& stream = schedule.ranks[rank].streams[0];
    for (std::uint32_t i = 0; i < stream.operations.size(); ++i) {
      const Action action = stream.operations[i].action;
      if (action == Action::send || action == Action::receive || action == Action::collective) {
        begun.push_back(i);
      }
    }
    wait(rank, begun);
  }

  Schedule schedule;

 private:
  std::uint32_t add(std::uint32_t rank, const Operation& operation) {
    std::vector<Operation>& operations = schedule.ranks[rank].streams[0].operations;
    operations.push_back(operation);
    return static_cast<std::uint32_t>(operations.size() - 1);
  }
};

/// L = 1000, o_s = 300, o_r = 200, g = 50, G = 0.5, eager up to 1000 bytes, rendezvous 100; all in nanoseconds.
inline Platform simple_platform() {
  Platform platform;
  platform.between_hosts = {.latency_ns = 1000,
                            .send_overhead_ns = 300,
                            .receive_overhead_ns = 200,
                            .overhead_per_byte_ns = 0,
                            .gap_ns = 50,
                            .gap_per_byte_ns = 0.5,
                            .eager_bytes_max = 1000,
                            .rendezvous_ns = 100};
  platform.within_host = platform.between_hosts;
  return platform;
}

}  // namespace plait::replay::testing
