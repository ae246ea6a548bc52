// SPDX-License-Identifier: Apache-2.0
#include "plait/exports/run_files.hpp"

#include <fstream>
#include <vector>

#include <gtest/gtest.h>

#include "plait/testing/temporary_folder.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::exports::run_files_test {
namespace {

void record(const std::filesystem::path& folder, std::uint32_t rank, std::uint32_t rank_count) {
  const SteadyClock clock;
  trace::Recorder recorder{clock,
                           {.folder = folder, .rank = Rank{rank}, .rank_count = rank_count, .chunk_bytes = 4096}};
  trace::ThreadRecorder& thread = recorder.thread(WorkerId{0}, "worker 0");
  thread.span({.name = recorder.name(trace::Role::span, "step"), .start = nanoseconds{5}, .end = nanoseconds{9}});
}

std::vector<std::uint32_t> ranks_of(RunFiles& files) {
  std::vector<std::uint32_t> ranks;
  files.for_each_rank([&](const RankOfRun& rank) { ranks.push_back(rank.trace.rank.value()); });
  return ranks;
}

TEST(RunFiles, visits_all_ranks_in_order) {
  const test::TemporaryFolder folder;
  for (const std::uint32_t rank : {2U, 0U, 1U}) {
    record(folder.path(), rank, 3);
  }
  RunFiles files{folder.path()};
  EXPECT_EQ(ranks_of(files), (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(files.rank_count(), 3U);
  EXPECT_TRUE(files.notices().empty());
}

TEST(RunFiles, notes_what_is_missing_or_unreadable) {
  const test::TemporaryFolder folder;
  record(folder.path(), 0, 3);
  record(folder.path(), 2, 3);
  std::ofstream{folder.path() / "rank-0002.plt"} << "no trace";
  RunFiles files{folder.path()};
  EXPECT_EQ(ranks_of(files), (std::vector<std::uint32_t>{0}));
  ASSERT_EQ(files.notices().size(), 2U);
  EXPECT_NE(files.notices()[0].find("rank-0002.plt"), std::string::npos);
  EXPECT_NE(files.notices()[1].find("the files of 2 of 3 ranks are missing"), std::string::npos);
}

TEST(RunFiles, refuses_a_folder_without_files) {
  const test::TemporaryFolder folder;
  EXPECT_THROW(RunFiles{folder.path()}, Error);
}

TEST(RunFiles, an_error_of_the_visit_ends_it) {
  const test::TemporaryFolder folder;
  record(folder.path(), 0, 2);
  record(folder.path(), 1, 2);
  RunFiles files{folder.path()};
  const auto fail = [](const RankOfRun& /*rank*/) { throw Error{ErrorCode::io, "full"}; };
  EXPECT_THROW(files.for_each_rank(fail), Error);
}

TEST(ExportClock, is_that_of_rank_0_and_never_below_0) {
  const ExportClock clock{{.offset = nanoseconds{-50}}, nanoseconds{1000}};
  EXPECT_EQ(clock(nanoseconds{60}), 1010U);
  EXPECT_EQ(clock(nanoseconds{-5000}), 0U);
}

}  // namespace
}  // namespace plait::exports::run_files_test
