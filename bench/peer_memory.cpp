// SPDX-License-Identifier: Apache-2.0
// The memory of an endpoint on 64 to 16384 ranks: without messages, and after messages to the peers of a typical code.
//
// The network is simulated. A few ranks have endpoints. Each sends a message to its 26 neighbours in a periodic cubic
// grid and to the ranks at distances of powers of two, as collectives do. Memory is what the allocator has handed out
// to the endpoints, without the network's own.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <malloc.h>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "plait/base/error.hpp"
#include "plait/comm/collectives/group.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/net/sim/sim.hpp"
#include "plait/particles/domains/domain.hpp"
#include "plait/trace/recorder.hpp"

#include "support/report.hpp"

namespace {

using plait::Rank;
using plait::comm::Endpoint;

constexpr std::uint32_t endpoint_count = 8;

/// Bytes of the heap that are in use.
double used_bytes() {
  const struct mallinfo2 heap = mallinfo2();
  return static_cast<double>(heap.uordblks + heap.hblkhd);
}

/// The neighbours of `rank` in a grid, and the ranks that a collective operation of all sends to.
std::set<std::uint32_t> peers_of(std::uint32_t rank, std::uint32_t ranks) {
  std::set<std::uint32_t> peers;
  const plait::particles::DomainGrid grid = plait::particles::cubic_grid(ranks);
  const auto [x, y, z] = grid.parts_of(Rank{rank});
  for (std::uint32_t i = 0; i < 27; ++i) {
    peers.insert(grid.rank_of({(x + grid.x + i / 9 - 1) % grid.x,
                               (y + grid.y + i / 3 % 3 - 1) % grid.y,
                               (z + grid.z + i % 3 - 1) % grid.z})
                     .value());
  }
  for (std::uint32_t distance = 1; distance < ranks; distance *= 2) {
    peers.insert((rank + distance) % ranks);
  }
  peers.erase(rank);
  return peers;
}

/// Bytes a rank.
struct Memory {
  double idle = 0;
  double in_use = 0;
  double of_group = 0;
  std::size_t peers = 0;  ///< Of the last rank.
};

Memory measure(std::uint32_t ranks) {
  plait::net::SimNetwork network{ranks};
  plait::trace::Recorder recorder{network.clock()};
  std::vector<std::unique_ptr<plait::net::Driver>> drivers;
  for (std::uint32_t i = 0; i < endpoint_count; ++i) {
    drivers.push_back(network.driver(Rank{i * (ranks / endpoint_count)}));
  }
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  const double begin = used_bytes();
  for (const auto& driver : drivers) {
    endpoints.push_back(std::make_unique<Endpoint>(*driver, recorder));
  }
  Memory memory;
  memory.idle = (used_bytes() - begin) / endpoint_count;
  std::vector<plait::comm::Group> groups;
  groups.reserve(endpoint_count);
  const double before_groups = used_bytes();
  for (const auto& endpoint : endpoints) {
    groups.emplace_back(*endpoint);
  }
  memory.of_group = (used_bytes() - before_groups) / endpoint_count;
  for (const auto& endpoint : endpoints) {
    const std::uint64_t data = 1;
    std::vector<plait::comm::Request> requests;
    const std::set<std::uint32_t> peers = peers_of(endpoint->self().value(), ranks);
    for (const std::uint32_t peer : peers) {
      const plait::comm::Address to{Rank{peer}, plait::Tag{1}};
      requests.push_back(endpoint->send(to, std::as_bytes(std::span{&data, 1})));
    }
    memory.peers = peers.size();
    while (network.advance()) {
      endpoint->progress();
    }
    plait::expect(std::ranges::all_of(requests, &plait::comm::Request::is_complete), "eager messages are sent");
  }
  groups.clear();
  const double with_endpoints = used_bytes();
  endpoints.clear();
  memory.in_use = (with_endpoints - used_bytes()) / endpoint_count;
  return memory;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::uint32_t> counts{64, 256, 1024, 4096, 16384};
  bench::Report report{
      "peer_memory",
      "an endpoint's memory grows with the peers that it has, and not with the ranks of the run",
      bench::Place{.ranks = {1}},
      argc,
      argv,
      [&counts](CLI::App& app) {
        app.add_option("-n,--ranks", counts, "[64 256 1024 4096 16384]")->check(CLI::Range(8, 1 << 20));
      }};
  for (const std::uint32_t count : counts) {
    const Memory memory = measure(count);
    const auto add = [&](const std::string& name, double bytes) {
      report.add({.name = name,
                  .params = {{"ranks", std::to_string(count)}, {"peers", std::to_string(memory.peers)}},
                  .value = bytes,
                  .unit = "B"});
    };
    add("endpoint without messages", memory.idle);
    add("endpoint that has sent to its peers", memory.in_use);
    add("group of all ranks", memory.of_group);
  }
  report.finish();
  return 0;
}
