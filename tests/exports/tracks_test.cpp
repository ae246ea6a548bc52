// SPDX-License-Identifier: Apache-2.0
#include "plait/exports/tracks.hpp"

#include <string>

#include <gtest/gtest.h>

namespace plait::exports::tracks_test {
namespace {

RankOfRun rank_of_two_threads() {
  RankOfRun rank;
  rank.trace.rank = Rank{0};
  rank.trace.rank_count = 1;
  rank.trace.threads = {{WorkerId{0}, "main"}, {WorkerId{}, "other"}};
  rank.trace.names[static_cast<std::size_t>(trace::Role::span)] = {{trace::NameId{0}, "a"}, {trace::NameId{1}, "b"}};
  return rank;
}

void add_span(RankOfRun& rank, std::uint32_t thread, std::uint32_t name, int start, int end) {
  rank.trace.spans.push_back(
      {thread, {.name = trace::NameId{name}, .start = nanoseconds{start}, .end = nanoseconds{end}}});
}

/// "a(" where the bar a begins, ")" where one ends, with the times.
std::string edges(const Track& track, const Names& names) {
  std::string text;
  for_each_edge(
      track,
      [&](const Bar& bar) { text += names[bar.name].text + "(" + std::to_string(bar.start) + " "; },
      [&](const Bar& bar) { text += std::to_string(bar.end) + ") "; });
  return text;
}

TEST(Tracks, bars_nest_and_those_that_overlap_are_cut) {
  RankOfRun rank = rank_of_two_threads();
  add_span(rank, 0, 1, 30, 50);
  add_span(rank, 0, 0, 10, 40);
  add_span(rank, 0, 1, 10, 20);
  Names names;
  const auto tracks = thread_tracks(rank, names);
  ASSERT_EQ(tracks.size(), 1U);
  EXPECT_EQ(edges(tracks[0], names), "a(10 b(10 20) b(30 40) 40) ");
}

TEST(Tracks, each_thread_has_its_own) {
  RankOfRun rank = rank_of_two_threads();
  add_span(rank, 0, 0, 10, 40);
  add_span(rank, 1, 1, 20, 30);
  Names names;
  const auto tracks = thread_tracks(rank, names);
  ASSERT_EQ(tracks.size(), 2U);
  EXPECT_EQ(tracks[1].number, 65535U);
  EXPECT_EQ(tracks[0].label(false), "phases");
}

TEST(Tracks, messages_at_one_time_are_in_rows_and_share_the_last) {
  const RankOfRun rank = rank_of_two_threads();
  const trace::MessageEvent event{.peer = Rank{0}};
  std::vector<MessageSide> sides;
  for (std::uint64_t i = 0; i < rows_max + 3; ++i) {
    sides.push_back({.event = &event, .posted = 10 + i, .completed = 1000 + i});
  }
  sides.push_back({.event = &event, .posted = 5000, .completed = 5001});
  Names names;
  const auto tracks = row_tracks(rank, sides, names);
  ASSERT_EQ(tracks.size(), rows_max);
  EXPECT_EQ(tracks[0].bars.size(), 2U);
  EXPECT_EQ(tracks.back().bars.size(), 4U);
  EXPECT_EQ(tracks.back().label(false), "messages 32");
}

}  // namespace
}  // namespace plait::exports::tracks_test
