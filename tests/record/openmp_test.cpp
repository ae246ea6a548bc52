// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "record/run.hpp"

namespace plait::record::test::openmp_test {
namespace {

TEST(OpenMp, parallel_regions_and_barriers_are_spans_of_each_thread) {
  if (!PLAIT_TEST_HAS_OPENMP) {
    // GCC's libgomp has no tools interface: only a program of Clang can be recorded so.
    GTEST_SKIP() << "the program was not built: no clang with libomp here (Debian: libomp-16-dev)";
  }
  const trace::RunTrace trace = recorded("openmp", 1);
  ASSERT_EQ(trace.ranks.size(), 1U);
  const trace::RankTrace& rank = trace.ranks[0];
  std::map<std::uint32_t, std::map<std::string, int>> counts;
  for (const auto& span : rank.spans) {
    const std::string name = rank.name(trace::Role::span, span.event.name);
    const std::string kind = name.starts_with("omp parallel ") ? "omp parallel" : name;
    ++counts[span.thread][kind];
    EXPECT_LE(span.event.start, span.event.end);
  }
  ASSERT_EQ(counts.size(), 2U);
  for (auto& [thread, of_kind] : counts) {
    EXPECT_EQ(of_kind["omp parallel"], 3) << thread;
    EXPECT_EQ(of_kind["omp barrier"], 3) << thread;
    EXPECT_EQ(of_kind["omp implicit barrier"], 3) << thread;
  }
}

}  // namespace
}  // namespace plait::record::test::openmp_test
