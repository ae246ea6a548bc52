// SPDX-License-Identifier: Apache-2.0
// The conformance cases on shared memory: ranks as objects of one process, in turns and a thread each, and as
// processes.
#include <algorithm>
#include <memory>
#include <thread>
#include <tuple>

#include <gtest/gtest.h>

#include "plait/net/shm/shm_driver.hpp"

#include "net/conformance.hpp"
#include "net/conformance_worlds.hpp"
#include "net/meeting_point.hpp"
#include "net/processes.hpp"

namespace plait::net::conformance::shm_conformance_test {
namespace {

class ShmWorld final : public World {
 public:
  ShmWorld(std::uint32_t ranks, const ShmOptions& options) : drivers_(ranks) {
    MeetingPoint point{ranks};
    std::vector<std::jthread> threads;  // making one takes all ranks at once
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      threads.emplace_back(
          [&, rank] { drivers_[rank] = make_shm_driver(Rank{rank}, ranks, point.exchange_of(Rank{rank}), options); });
    }
    threads.clear();
  }
  std::unique_ptr<Driver> driver(Rank rank) override { return std::move(drivers_[rank.value()]); }

 private:
  std::vector<std::unique_ptr<Driver>> drivers_;
};

struct Kind {
  std::string name;
  ShmOptions options;
  Terms terms;
};
void PrintTo(const Kind& kind, std::ostream* out) {
  *out << kind.name;
}

std::vector<Kind> kinds() {
  const Terms small{.bulk_bytes_max = 700'001};
  const ShmOptions tiny{.packet_bytes_max = 1024,
                        .ring_bytes_max = 1,
                        .bulk_slot_count = 2,
                        .bulk_piece_bytes_max = 5000,
                        .bounce_bytes = 1000,
                        .look_at_all_ranks_max = 0};
  ShmOptions tiny_two_copies = tiny;
  tiny_two_copies.single_copy = SingleCopy::never;
  return {{"shm", {}, {}},
          {"shm_two_copies", {.single_copy = SingleCopy::never}, {}},
          {"shm_tiny", tiny, small},
          {"shm_tiny_two_copies", tiny_two_copies, small}};
}

std::vector<Setting> settings() {
  std::vector<Setting> all;
  for (const Kind& kind : kinds()) {
    const auto make = [options = kind.options](std::uint32_t ranks) -> std::unique_ptr<World> {
      return std::make_unique<ShmWorld>(ranks, options);
    };
    all.push_back({kind.name, make, kind.terms, Threads::one});
    all.push_back({kind.name + "_threads", make, kind.terms, Threads::one_a_rank});
  }
  return all;
}

class ShmInOneProcess : public testing::TestWithParam<Parameter> {};

TEST_P(ShmInOneProcess, holds) {
  const auto& [setting, rank_count, played] = GetParam();
  play(setting, rank_count, played);
}

class ShmInProcesses : public testing::TestWithParam<std::tuple<Kind, std::uint32_t, Case>> {};

TEST_P(ShmInProcesses, holds) {
  const auto& [kind, rank_count, played] = GetParam();
  MeetingPoint point{rank_count};
  const Endings endings =
      run_in_processes(rank_count, [&, &kind = kind, &played = played, count = rank_count](Rank rank) {
        const auto driver = make_shm_driver(rank, count, point.exchange_of(rank), kind.options);
        Player player{*driver};
        Part part = played.play(player, kind.terms);
        while (!part.is_over() || !driver->is_idle()) {
          player.poll();
          if (!part.is_over()) {
            part.step();
          }
          if (player.arrivals.empty()) {
            std::this_thread::yield();
          }
        }
        player.arrivals.clear();
        player.done.clear();
        point.meet([&] { player.poll(); });
        EXPECT_TRUE(player.arrivals.empty()) << "something arrived that no rank sent";
        EXPECT_TRUE(player.done.empty()) << "something was completed twice";
      });
  EXPECT_EQ(endings, Endings(rank_count, 0));
}

INSTANTIATE_TEST_SUITE_P(All,
                         ShmInOneProcess,
                         testing::Combine(testing::ValuesIn(settings()),
                                          testing::Values(1U, 3U),
                                          testing::ValuesIn(cases())),
                         name_of<Parameter>);
INSTANTIATE_TEST_SUITE_P(All,
                         ShmInProcesses,
                         testing::Combine(testing::ValuesIn(kinds()),
                                          testing::Values(2U, 4U),
                                          testing::ValuesIn(cases())),
                         name_of<ShmInProcesses::ParamType>);

TEST(ShmManyRanks, find_who_has_written_in_more_than_one_word_of_flags) {
  constexpr std::uint32_t rank_count = 70;
  const std::vector<Setting> all = settings();
  const auto tiny = std::ranges::find(all, "shm_tiny", &Setting::name);
  for (const Case& played : cases()) {
    if (played.name == "serves_many_senders_to_one") {
      play(*tiny, rank_count, played);
    }
  }
}

}  // namespace
}  // namespace plait::net::conformance::shm_conformance_test
