// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include <gtest/gtest.h>

#include "record/run.hpp"

namespace plait::record::test::regions_test {
namespace {

using Span = trace::Recorded<trace::SpanEvent>;

std::vector<Span> regions_called(const trace::RankTrace& rank, std::string_view name) {
  std::vector<Span> found;
  std::ranges::copy_if(rank.spans, std::back_inserter(found), [&](const Span& span) {
    return rank.name(trace::Role::span, span.event.name) == name;
  });
  return found;
}

TEST(Regions, are_spans_of_the_thread_that_has_begun_them) {
  const trace::RunTrace run = recorded("regions", 2);
  ASSERT_EQ(run.ranks.size(), 2U);
  for (const trace::RankTrace& rank : run.ranks) {
    const std::vector<Span> solved = regions_called(rank, "solve");
    const std::vector<Span> exchanged = regions_called(rank, "exchange");
    ASSERT_EQ(solved.size(), 4U);
    ASSERT_EQ(exchanged.size(), 4U);
    for (std::size_t i = 0; i < solved.size(); ++i) {
      EXPECT_LE(solved[i].event.start, exchanged[i].event.start);
      EXPECT_LE(exchanged[i].event.start, exchanged[i].event.end);
      EXPECT_LE(exchanged[i].event.end, solved[i].event.end);
    }
    EXPECT_EQ(std::ranges::count(solved, solved[0].thread, &Span::thread), 3);
    EXPECT_EQ(calls_of(rank, "MPI_Bcast").size(), 4U);
  }
}

TEST(Regions, that_begin_before_the_recording_or_never_end_are_cut_off) {
  const trace::RunTrace run = recorded("regions", 1);
  ASSERT_EQ(run.ranks.size(), 1U);
  EXPECT_TRUE(regions_called(run.ranks[0], "before MPI").empty());
  EXPECT_EQ(regions_called(run.ranks[0], "never ended").size(), 1U);
  EXPECT_EQ(run.ranks[0].spans.size(), 9U);
}

TEST(Regions, of_a_program_with_the_library_for_c_are_recorded_as_well) {
  const trace::RunTrace run = recorded("../../c.plain", 2);  // the program of tests/c
  ASSERT_EQ(run.ranks.size(), 2U);
  EXPECT_EQ(regions_called(run.ranks[1], "all").size(), 1U);
  EXPECT_EQ(regions_called(run.ranks[1], "add").size(), 3U);
}

TEST(Regions, of_the_header_and_of_MPI_Pcontrol_are_recorded) {
  const trace::RunTrace run = recorded("region_header", 2);
  ASSERT_EQ(run.ranks.size(), 2U);
  for (const trace::RankTrace& rank : run.ranks) {
    EXPECT_EQ(regions_called(rank, "solve").size(), 3U);
    const std::vector<Span> outer = regions_called(rank, "of IPM");
    const std::vector<Span> inner = regions_called(rank, "region 7");
    ASSERT_EQ(outer.size(), 1U);
    ASSERT_EQ(inner.size(), 1U);
    EXPECT_LE(outer[0].event.start, inner[0].event.start);
    EXPECT_LE(inner[0].event.end, outer[0].event.end);
    EXPECT_TRUE(regions_called(rank, "never begun").empty());
    ASSERT_EQ(rank.open_regions.size(), 1U);
    EXPECT_EQ(rank.name(trace::Role::span, rank.open_regions[0].event.name), "never ended");
  }
}

TEST(Pcontrol, leaves_calls_out_while_the_recording_is_off_but_no_message) {
  const trace::RunTrace run = recorded("region_header", 2);
  ASSERT_EQ(run.ranks.size(), 2U);
  for (const trace::RankTrace& rank : run.ranks) {
    EXPECT_EQ(calls_of(rank, "MPI_Bcast").size(), 4U);  // of five
    EXPECT_EQ(regions_called(rank, "recording off (MPI_Pcontrol)").size(), 1U);
  }
  EXPECT_EQ(calls_of(run.ranks[0], "MPI_Send").size(), 1U);  // of two
  EXPECT_EQ(messages_of(run.ranks[0], trace::MessageDirection::sent).size(), 2U);
  EXPECT_EQ(messages_of(run.ranks[1], trace::MessageDirection::received).size(), 2U);
}

}  // namespace
}  // namespace plait::record::test::regions_test
