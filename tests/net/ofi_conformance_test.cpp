// SPDX-License-Identifier: Apache-2.0
// The conformance cases on libfabric: with all ranks in one process, which take turns.
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "plait/net/ofi/ofi_driver.hpp"

#include "net/conformance.hpp"
#include "net/conformance_worlds.hpp"
#include "net/meeting_point.hpp"
#include "net/ofi_support.hpp"

namespace plait::net::conformance::ofi_conformance_test {
namespace {

/// Makes all drivers at once, each on a thread of its own, since making one is collective.
class OfiWorld final : public World {
 public:
  OfiWorld(std::uint32_t ranks, const OfiOptions& options) : drivers_(ranks) {
    MeetingPoint meeting{ranks};
    std::vector<std::jthread> threads;
    threads.reserve(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([this, rank, ranks, &meeting, &options] {
        drivers_[rank] = make_ofi_driver(Rank{rank}, ranks, meeting.exchange_of(Rank{rank}), options);
      });
    }
  }
  std::unique_ptr<Driver> driver(Rank rank) override { return std::move(drivers_[rank.value()]); }

 private:
  std::vector<std::unique_ptr<Driver>> drivers_;
};

std::vector<Setting> settings() {
  std::vector<Setting> all;
  for (const OfiSetting& setting : ofi_settings()) {
    all.push_back({setting.name,
                   [setting](std::uint32_t ranks) { return std::make_unique<OfiWorld>(ranks, setting.options); },
                   {}});
  }
  return all;
}

class OfiConformance : public testing::TestWithParam<Parameter> {};

TEST_P(OfiConformance, holds_in_turns) {
  const auto& [setting, rank_count, played] = GetParam();
  play(setting, rank_count, played);
}

INSTANTIATE_TEST_SUITE_P(All,
                         OfiConformance,
                         testing::Combine(testing::ValuesIn(settings()),
                                          testing::Values(1U, 3U),
                                          testing::ValuesIn(cases())),
                         name_of<Parameter>);

}  // namespace
}  // namespace plait::net::conformance::ofi_conformance_test
