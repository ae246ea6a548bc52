// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/random.hpp"
#include "plait/comm/collectives/group.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/comm/nodes.hpp"
#include "plait/net/loopback/loopback.hpp"
#include "plait/net/sim/sim.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::comm::test {

/// All sizes of groups that collectives are tried with.
inline const std::vector<std::uint32_t> group_sizes{1, 2, 3, 4, 5, 6, 7, 8, 9, 16};

/// The endpoints of several ranks in this process, driven by one thread, on a network and with limits that the seed
/// draws: seed 0 is the loopback network, all others simulated ones that delay, reorder and refuse. Ranks with odd
/// seeds are on nodes, of any number of ranks each.
class ManyRanks {
 public:
  ManyRanks(std::uint32_t count, std::uint64_t seed) : random{seed} {
    const EndpointOptions options{.eager_bytes_max = below(2) == 0 ? 16U : 10'000U};
    if (seed == 0) {
      loopback_ = std::make_unique<net::LoopbackNetwork>(count);
    } else {
      sim_ = std::make_unique<net::SimNetwork>(
          count,
          net::SimOptions{.seed = seed,
                          .delay_max = std::chrono::microseconds{below(20)},
                          .order = below(2) == 0 ? net::SimOrder::kept_in_pair : net::SimOrder::free,
                          .retry_probability = below(2) == 0 ? 0.0 : 0.3,
                          .packet_bytes_max = 1024,
                          .send_queue_packets_max = static_cast<std::uint32_t>(1 + below(8)),
                          .bulk_slot_count = static_cast<std::uint32_t>(1 + below(3)),
                          .bulk_chunk_bytes = 4096});
    }
    for (std::uint32_t rank = 0; rank < count; ++rank) {
      drivers_.push_back(sim_ ? sim_->driver(Rank{rank}) : loopback_->driver(Rank{rank}));
      recorders_.push_back(std::make_unique<trace::Recorder>(drivers_.back()->clock()));
      endpoints_.push_back(std::make_unique<Endpoint>(*drivers_.back(), *recorders_.back(), options));
    }
    if (seed % 2 != 0) {
      std::vector<std::uint32_t> nodes(count);
      std::ranges::generate(nodes, [&] { return static_cast<std::uint32_t>(below(1 + count / 2)); });
      set_nodes(nodes);
    }
  }

  Endpoint& operator[](std::size_t rank) { return *endpoints_[rank]; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(endpoints_.size()); }

  void set_nodes(const std::vector<std::uint32_t>& nodes) {
    for (const auto& endpoint : endpoints_) {
      Nodes::set(*endpoint, nodes);
    }
  }

  /// A group of all ranks on each.
  [[nodiscard]] std::vector<Group> groups(CommId comm = world) {
    std::vector<Group> groups;
    for (std::uint32_t rank = 0; rank < size(); ++rank) {
      groups.emplace_back(*endpoints_[rank], comm);
    }
    return groups;
  }

  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(random.below(bound)); }
  /// Nothing, little, or more than goes into a packet.
  std::size_t some_size() {
    const std::size_t kind = below(4);
    return kind == 0 ? 0 : kind == 1 ? below(20'000) : below(100);
  }

  void turn() {
    for (const auto& endpoint : endpoints_) {
      endpoint->progress();
    }
    if (sim_) {
      sim_->advance();
    }
  }
  /// Makes progress until all are complete. Throws when that does not come.
  void settle(const std::vector<Request>& requests) {
    for (int turns = 0; !std::ranges::all_of(requests, &Request::is_complete); ++turns) {
      if (turns > 300'000) {
        throw std::runtime_error{"the operations do not end"};
      }
      turn();
    }
  }
  /// Some turns, so that ranks do not call at the same time.
  void stagger() {
    for (std::size_t turns = below(4); turns > 0; --turns) {
      turn();
    }
  }

  Random random;

 private:
  std::unique_ptr<net::LoopbackNetwork> loopback_;
  std::unique_ptr<net::SimNetwork> sim_;
  std::vector<std::unique_ptr<net::Driver>> drivers_;
  std::vector<std::unique_ptr<trace::Recorder>> recorders_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;  // last: gone before what they use
};

/// Calls `check` with ranks of every size of group and on `seeds` networks for each.
inline void for_many_ranks(std::uint64_t seeds, const std::function<void(ManyRanks&)>& check) {
  for (const std::uint32_t size : group_sizes) {
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      SCOPED_TRACE(testing::Message() << size << " ranks, seed " << seed);
      ManyRanks ranks{size, seed};
      ASSERT_NO_THROW(check(ranks));
      if (testing::Test::HasFailure()) {
        return;  // the first one is enough
      }
    }
  }
}

/// The code that the request ended with.
inline std::optional<ErrorCode> code_of(const Request& request) {
  try {
    (void)request.status();
    return {};
  } catch (const Error& error) {
    return error.code();
  }
}

}  // namespace plait::comm::test
