// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/predict/what_if.hpp"

#include <gtest/gtest.h>

#include "plait/replay/predict/agreement.hpp"
#include "plait/replay/predict/prediction_run.hpp"

#include "replay/predict/exchanges.hpp"

namespace plait::replay::what_if_test {
namespace {

using testing::Exchange;
using testing::simple_platform;

/// Each rank computes and sends three messages, one of them long, to the next; three times.
Scenario ring_scenario() {
  constexpr std::uint32_t ranks = 4;
  Exchange exchange{ranks};
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    for (int step = 0; step < 3; ++step) {
      std::vector<std::uint32_t> begun;
      for (const std::uint64_t bytes : {std::uint64_t{100}, std::uint64_t{200}, std::uint64_t{5000}}) {
        begun.push_back(exchange.receive(rank, (rank + ranks - 1) % ranks, bytes));
        begun.push_back(exchange.send(rank, (rank + 1) % ranks, bytes));
      }
      exchange.compute(rank, 20'000);
      exchange.wait(rank, begun);
    }
  }
  return {std::make_shared<const Schedule>(exchange.schedule), simple_platform(), {}};
}

std::int64_t total_ns(const Scenario& scenario) {
  return predict(*scenario.schedule, scenario.platform, scenario.options).value().total.count();
}

std::int64_t total_with(const WhatIf& what_if) {
  return total_ns(with(ring_scenario(), {what_if}).value());
}

TEST(WhatIfs, that_make_the_machine_better_never_make_this_exchange_slower) {
  const std::int64_t before = total_ns(ring_scenario());
  EXPECT_LT(total_with({.kind = WhatIf::Kind::latency, .value = 0.5}), before);
  EXPECT_LT(total_with({.kind = WhatIf::Kind::bandwidth, .value = 2}), before);
  EXPECT_LT(total_with({.kind = WhatIf::Kind::overhead, .value = 0.5}), before);
  EXPECT_LT(total_with({.kind = WhatIf::Kind::eager, .value = 10'000}), before);
  EXPECT_LT(total_with({.kind = WhatIf::Kind::progress, .value = 0, .progress = ProgressModel::ideal}), before);
  EXPECT_LT(total_with({.kind = WhatIf::Kind::compute, .value = 0.5}), before);
  EXPECT_LT(total_with({.kind = WhatIf::Kind::cores, .value = 4}), before);
  EXPECT_GT(total_with({.kind = WhatIf::Kind::latency, .value = 3}), before);
}

TEST(WhatIfs, give_ranks_that_share_cores_more_of_them) {
  Exchange exchange{2};
  exchange.compute(0, 1000);
  exchange.compute(1, 1000);
  Scenario scenario{std::make_shared<const Schedule>(exchange.schedule), simple_platform(), {}};
  scenario.platform.ranks_per_host = 2;
  scenario.platform.core_slice_ns = 1e6;
  EXPECT_EQ(total_ns(scenario), 2000);
  EXPECT_EQ(total_ns(with(scenario, {{.kind = WhatIf::Kind::cores, .value = 2}}).value()), 1000);
}

TEST(WhatIfs, pack_messages_by_peer) {
  const Scenario packed = with(ring_scenario(), {{.kind = WhatIf::Kind::aggregate}}).value();
  EXPECT_EQ(predict(*packed.schedule, packed.platform).value().messages, 12U);
}

TEST(WhatIfs, tile_a_ring_to_a_longer_one_at_no_cost) {
  const Scenario tiled = with(ring_scenario(), {{.kind = WhatIf::Kind::tile, .value = 3}}).value();
  EXPECT_EQ(tiled.schedule->ranks.size(), 12U);
  EXPECT_EQ(tiled.schedule->ranks[3].streams[0].operations[1].peer, 4U);
  EXPECT_EQ(tiled.grid->text(), "a periodic grid of 12 ranks");
  EXPECT_EQ(total_ns(tiled), total_ns(ring_scenario()));
}

TEST(WhatIfs, tile_what_fits_no_grid_as_copies_that_do_not_meet) {
  Scenario scenario = ring_scenario();
  Exchange exchange{5};
  for (std::uint32_t rank = 1; rank < 5; ++rank) {
    exchange.send(0, rank, 100);
    exchange.receive(rank, 0, 100);
  }
  scenario.schedule = std::make_shared<const Schedule>(exchange.schedule);
  const Scenario tiled = with(scenario, {{.kind = WhatIf::Kind::tile, .value = 2}}).value();
  EXPECT_EQ(tiled.schedule->ranks[5].streams[0].operations[0].peer, 6U);
  EXPECT_NE(tiled.schedule->notices.back().find("fit no grid"), std::string::npos);
}

TEST(WhatIfs, cut_a_problem_finer_and_enlarge_it_again) {
  const WhatIf finer{.kind = WhatIf::Kind::ranks, .value = 8};
  const WhatIf larger{.kind = WhatIf::Kind::scale, .value = 2};
  const auto computing = [](const Scenario& scenario) {
    return predict(*scenario.schedule, scenario.platform, scenario.options).value().ranks[0].compute.count();
  };
  EXPECT_EQ(computing(with(ring_scenario(), {finer}).value()), 3 * 10'000);
  EXPECT_EQ(computing(with(ring_scenario(), {larger}).value()), 3 * 40'000);
  EXPECT_EQ(total_ns(with(ring_scenario(), {finer, larger}).value()), total_ns(ring_scenario()));
  EXPECT_FALSE(with(ring_scenario(), {{.kind = WhatIf::Kind::ranks, .value = 6}}));
  EXPECT_EQ(finer.name(), "cut finer, for 8 ranks");
}

TEST(WhatIfs, add_up) {
  const std::vector<WhatIf> both{{.kind = WhatIf::Kind::latency, .value = 0.5},
                                 {.kind = WhatIf::Kind::bandwidth, .value = 2}};
  const Scenario scenario = with(ring_scenario(), both).value();
  EXPECT_EQ(scenario.platform.between_hosts.latency_ns, 500);
  EXPECT_EQ(scenario.platform.between_hosts.gap_per_byte_ns, 0.25);
  EXPECT_EQ(both[0].name(), "latency x0.5");
}

TEST(WhatIfTexts, are_read_or_refused_with_an_example) {
  EXPECT_EQ(parse_factor("x0.5").value(), 0.5);
  EXPECT_EQ(parse_tile("8").value().value, 8);
  EXPECT_EQ(parse_tile("4x2").value().copies, (std::vector<std::uint32_t>{4, 2}));
  EXPECT_FALSE(parse_tile("0"));
  EXPECT_FALSE(parse_tile("2:open"));
  EXPECT_FALSE(parse_tile("all"));
  EXPECT_EQ(parse_factor("50%").value(), 0.5);
  EXPECT_EQ(parse_bytes("64KiB").value(), 65536U);
  EXPECT_EQ(parse_bytes("1.5MB").value(), 1'500'000U);
  EXPECT_EQ(parse_progress("background:10us").value().value, 10'000);
  EXPECT_FALSE(parse_factor("x"));
  EXPECT_FALSE(parse_factor("-1"));
  EXPECT_FALSE(parse_factor("2y"));
  EXPECT_FALSE(parse_bytes("64 bytes"));
  EXPECT_FALSE(parse_progress("background:"));
  EXPECT_NE(std::string{parse_progress("now").error().what()}.find("background:10us"), std::string::npos);
}

}  // namespace
}  // namespace plait::replay::what_if_test
