// SPDX-License-Identifier: Apache-2.0
// Several networks as one: the conformance cases, and what is particular to it.
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/net/combined/combined_driver.hpp"
#include "plait/net/loopback/loopback.hpp"
#include "plait/net/sim/sim.hpp"

#include "net/conformance.hpp"
#include "net/conformance_worlds.hpp"

namespace plait::net::conformance::combined_test {
namespace {

std::vector<Rank> all_of(std::uint32_t rank_count) {
  std::vector<Rank> all;
  for (std::uint32_t rank = 0; rank < rank_count; ++rank) {
    all.emplace_back(rank);
  }
  return all;
}

/// Two hosts, of the even and the odd ranks: a loopback network inside of each, and one network among all, of which
/// only the ways from host to host are used.
class HostsWorld final : public World {
 public:
  HostsWorld(std::uint32_t ranks, const LoopbackOptions& far)
      : ranks_{ranks}, even_{(ranks + 1) / 2, near}, odd_{std::max(1U, ranks / 2), near}, all_{ranks, far} {}

  std::unique_ptr<Driver> driver(Rank rank) override {
    const std::uint32_t host = rank.value() % 2;
    std::vector<CombinedPart> parts(2);
    parts[0].driver = (host == 0 ? even_ : odd_).driver(Rank{rank.value() / 2});
    parts[1].driver = all_.driver(rank);
    parts[1].called = all_of(ranks_);
    for (const Rank peer : parts[1].called) {
      if (peer.value() % 2 == host) {
        parts[0].called.push_back(peer);
      }
      parts[peer.value() % 2 == host ? 0 : 1].serves.push_back(peer);
    }
    return make_combined_driver(rank, ranks_, std::move(parts));
  }

 private:
  static constexpr LoopbackOptions near{.shared_copies = {2, 5000}};

  std::uint32_t ranks_;
  LoopbackNetwork even_;
  LoopbackNetwork odd_;
  LoopbackNetwork all_;
};

std::vector<Setting> settings() {
  const auto make = [](const LoopbackOptions& far) {
    return [far](std::uint32_t ranks) -> std::unique_ptr<World> { return std::make_unique<HostsWorld>(ranks, far); };
  };
  const LoopbackOptions small{.packet_bytes_max = 1024, .mailbox_packets_max = 3, .bulk_slot_count = 3};
  return {{"alike", make({}), {}},
          {"unlike", make(small), {}},
          {"alike_threads", make({}), {}, Threads::one_a_rank},
          {"unlike_threads", make(small), {}, Threads::one_a_rank}};
}

class CombinedConformance : public testing::TestWithParam<Parameter> {};

TEST_P(CombinedConformance, holds) {
  const auto& [setting, rank_count, played] = GetParam();
  play(setting, rank_count, played);
}

INSTANTIATE_TEST_SUITE_P(All,
                         CombinedConformance,
                         testing::Combine(testing::ValuesIn(settings()),
                                          testing::Values(1U, 3U, 4U),
                                          testing::ValuesIn(cases())),
                         name_of<Parameter>);

/// Two ranks; this one by itself in one part, the other in a part that calls it by another number.
struct TwoParts {
  explicit TwoParts(const SimOptions& far = {}) : near{1}, away{2, far} {}

  std::unique_ptr<Driver> combined() {
    std::vector<CombinedPart> parts(2);
    parts[0] = {near.driver(Rank{0}), {Rank{0}}, {Rank{0}}};
    parts[1] = {away.driver(Rank{1}), {Rank{1}, Rank{0}}, {Rank{1}}};
    return make_combined_driver(Rank{0}, 2, std::move(parts));
  }

  LoopbackNetwork near;
  SimNetwork away;
};

TEST(CombinedDriver, is_the_least_of_its_parts) {
  TwoParts parts{{.packet_bytes_max = 2048, .bulk_slot_count = 3}};
  const auto driver = parts.combined();
  EXPECT_EQ(driver->packet_bytes_max(), 2048U);
  EXPECT_EQ(driver->bulk_slot_count(), 3U);
  EXPECT_STREQ(driver->name(), "loopback + sim");
}

TEST(CombinedDriver, knows_which_peers_are_beyond_a_network) {
  TwoParts parts;
  const auto driver = parts.combined();
  EXPECT_FALSE(driver->passes_network(Rank{0}));
  EXPECT_TRUE(driver->passes_network(Rank{1}));
}

TEST(CombinedDriver, leaves_out_a_part_that_serves_nobody) {
  LoopbackNetwork near{1};
  LoopbackNetwork idle{1, {.packet_bytes_max = 1024}};
  std::vector<CombinedPart> parts(2);
  parts[0] = {near.driver(Rank{0}), {Rank{0}}, {Rank{0}}};
  parts[1] = {idle.driver(Rank{0}), {Rank{0}}, {}};
  const auto driver = make_combined_driver(Rank{0}, 1, std::move(parts));
  EXPECT_STREQ(driver->name(), "loopback");
  EXPECT_EQ(driver->packet_bytes_max(), LoopbackOptions{}.packet_bytes_max);
}

TEST(CombinedDriver, names_a_lost_peer_as_the_whole_network_does) {
  TwoParts parts{{.failures = {{Rank{0}, nanoseconds{1}}}}};
  const auto driver = parts.combined();
  parts.away.advance_to(nanoseconds{1000});
  Packet packet = driver->acquire();
  packet.resize(1);
  try {
    static_cast<void>(driver->send(Rank{1}, std::move(packet)));
    FAIL() << "the part has lost its rank 0, which is called 1";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::network);
    EXPECT_EQ(error.rank(), Rank{1});
  }
}

TEST(CombinedDriver, refuses_ranks_that_are_served_wrongly) {
  const auto with = [](std::vector<Rank> first, std::vector<Rank> second) {
    LoopbackNetwork one{2};
    LoopbackNetwork other{2};
    std::vector<CombinedPart> parts(2);
    parts[0] = {one.driver(Rank{0}), all_of(2), std::move(first)};
    parts[1] = {other.driver(Rank{0}), all_of(2), std::move(second)};
    return make_combined_driver(Rank{0}, 2, std::move(parts));
  };
  EXPECT_THROW(with({Rank{0}}, {}), Error) << "by none";
  EXPECT_THROW(with({Rank{0}, Rank{1}}, {Rank{1}}), Error) << "by two";
  EXPECT_THROW(with({Rank{0}, Rank{1}}, {Rank{2}}), Error) << "by one that does not know it";
}

}  // namespace
}  // namespace plait::net::conformance::combined_test
