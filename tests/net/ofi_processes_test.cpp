// SPDX-License-Identifier: Apache-2.0
// The conformance cases on libfabric: with each rank in a process of its own. The processes play all cases one after
// another, for libfabric takes a third of a second to start; none waits for another at the end of a case.
#include <chrono>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "plait/net/ofi/ofi_driver.hpp"

#include "net/conformance.hpp"
#include "net/meeting_point.hpp"
#include "net/ofi_support.hpp"
#include "net/processes.hpp"

namespace plait::net::conformance::ofi_processes_test {
namespace {

/// Longer than any case takes, with four ranks on two slow cores under a sanitizer.
constexpr std::chrono::seconds case_time_max{60};

using Parameter = std::tuple<OfiSetting, std::uint32_t>;

class OfiProcesses : public testing::TestWithParam<Parameter> {};

void play_one(Driver& driver, const Case& played) {
  const auto start = std::chrono::steady_clock::now();
  Player player{driver};
  const Terms terms;
  Part part = played.play(player, terms);
  while (!part.is_over() || !driver.is_idle()) {
    ASSERT_LT(std::chrono::steady_clock::now() - start, case_time_max) << "the case hangs";
    player.poll();
    if (!part.is_over()) {
      part.step();
    }
  }
}

TEST_P(OfiProcesses, hold) {
  const auto& [setting, rank_count] = GetParam();
  MeetingPoint meeting{rank_count};
  const Endings endings = run_in_processes(rank_count, [&](Rank self) {
    for (const Case& played : cases()) {
      SCOPED_TRACE(played.name + ", rank " + std::to_string(self.value()));
      const auto driver = make_ofi_driver(self, rank_count, meeting.exchange_of(self), setting.options);
      play_one(*driver, played);
    }
  });
  EXPECT_EQ(endings, Endings(rank_count, 0)) << "a rank failed; see above";
}

std::string name_of(const testing::TestParamInfo<Parameter>& info) {
  const auto& [setting, rank_count] = info.param;
  return setting.name + "_" + std::to_string(rank_count);
}

INSTANTIATE_TEST_SUITE_P(All,
                         OfiProcesses,
                         testing::Combine(testing::ValuesIn(ofi_settings()), testing::Values(2U, 4U)),
                         name_of);

}  // namespace
}  // namespace plait::net::conformance::ofi_processes_test
