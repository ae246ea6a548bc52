// SPDX-License-Identifier: Apache-2.0
// The conformance cases on the networks that live in one process: in turns, and a thread a rank.
#include "net/conformance.hpp"

#include <memory>

#include <gtest/gtest.h>

#include "plait/net/loopback/loopback.hpp"
#include "plait/net/sim/sim.hpp"

#include "net/conformance_worlds.hpp"

namespace plait::net::conformance::conformance_test {
namespace {

class LoopbackWorld final : public World {
 public:
  LoopbackWorld(std::uint32_t ranks, const LoopbackOptions& options) : network_{ranks, options} {}
  std::unique_ptr<Driver> driver(Rank rank) override { return network_.driver(rank); }

 private:
  LoopbackNetwork network_;
};

class SimWorld final : public World {
 public:
  SimWorld(std::uint32_t ranks, const SimOptions& options) : network_{ranks, options} {}
  std::unique_ptr<Driver> driver(Rank rank) override { return network_.driver(rank); }
  void let_time_pass() override { network_.advance(); }

 private:
  SimNetwork network_;
};

std::vector<Setting> settings() {
  const auto loopback = [](const LoopbackOptions& options) {
    return [options](std::uint32_t ranks) -> std::unique_ptr<World> {
      return std::make_unique<LoopbackWorld>(ranks, options);
    };
  };
  const auto sim = [](const SimOptions& options) {
    return
        [options](std::uint32_t ranks) -> std::unique_ptr<World> { return std::make_unique<SimWorld>(ranks, options); };
  };
  const Terms small{.bulk_bytes_max = 700'001};
  return {
      {"loopback", loopback({}), {}},
      {"loopback_small",
       loopback({.packet_bytes_max = 1024, .mailbox_packets_max = 3, .shared_copies = {1, 1000}}),
       small},
      {"loopback_threads", loopback({.shared_copies = {3, 10'000}}), {}, Threads::one_a_rank},
      {"sim", sim({}), {}},
      {"sim_long", sim({.seed = 10, .packet_bytes_max = 1024, .copied_bytes_max = 5000}), small},
      {"sim_late", sim({.seed = 7, .delay_max = nanoseconds{50000}}), small},
      {"sim_disorder",
       sim({.seed = 8, .delay_max = nanoseconds{50000}, .order = SimOrder::free, .shared_copies = {2, 5000}}),
       {.keeps_order = false, .bulk_bytes_max = small.bulk_bytes_max}},
      {"sim_full",
       sim({.seed = 9,
            .delay_max = nanoseconds{3000},
            .retry_probability = 0.4,
            .send_queue_packets_max = 2,
            .bulk_slot_count = 3,
            .bulk_chunk_bytes = 5000}),
       small},
  };
}

class Conformance : public testing::TestWithParam<Parameter> {};

TEST_P(Conformance, holds) {
  const auto& [setting, rank_count, played] = GetParam();
  play(setting, rank_count, played);
}

INSTANTIATE_TEST_SUITE_P(All,
                         Conformance,
                         testing::Combine(testing::ValuesIn(settings()),
                                          testing::Values(1U, 3U),
                                          testing::ValuesIn(cases())),
                         name_of<Parameter>);

}  // namespace

}  // namespace plait::net::conformance::conformance_test
