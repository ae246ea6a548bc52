// SPDX-License-Identifier: Apache-2.0
#include "plait/exports/samples.hpp"

#include <gtest/gtest.h>

namespace plait::exports::samples_test {
namespace {

std::string text_of(const PathTree& paths, const Names& names, std::uint32_t node) {
  std::string text;
  for (const std::uint32_t function : paths.functions_to(node)) {
    text += names[function].text + ";";
  }
  return text;
}

TEST(PathTree, share_the_nodes_of_their_callers) {
  SiteTexts texts;
  texts.paths = {{"a~1", {"inner", "outer"}}, {"b~2", {"other", "outer"}}, {"c", {"outer"}}};
  Names names;
  PathTree paths{texts, names};
  const std::uint32_t inner = paths.node_of("a~1");
  EXPECT_EQ(text_of(paths, names, inner), "outer;inner;");
  EXPECT_EQ(text_of(paths, names, paths.node_of("b~2")), "outer;other;");
  EXPECT_EQ(paths.node_of("c"), paths.nodes()[inner].caller);
  EXPECT_EQ(paths.nodes().size(), 3U);
}

TEST(PathTree, of_places_without_a_text_are_the_place) {
  const SiteTexts texts;
  Names names;
  PathTree paths{texts, names};
  EXPECT_EQ(text_of(paths, names, paths.node_of("app+0x10~0123")), "app+0x10;");
  EXPECT_EQ(text_of(paths, names, paths.node_of("")), "unknown code;");
}

RankOfRun rank_with_samples() {
  RankOfRun rank;
  rank.trace.names[static_cast<std::size_t>(trace::Role::counter)] = {{trace::NameId{0}, "cycles"}};
  rank.trace.names[static_cast<std::size_t>(trace::Role::span)] = {{trace::NameId{0}, "solve"}};
  return rank;
}

TEST(Samples, are_by_thread_and_time_and_a_thread_gets_its_worker_when_it_has_one) {
  RankOfRun rank = rank_with_samples();
  const auto add = [&](std::uint16_t worker, std::uint32_t thread, int time) {
    rank.trace.samples.push_back(
        {0,
         {.of_worker = worker, .thread = thread, .time = nanoseconds{time}, .site = {}, .interval = nanoseconds{10}}});
  };
  add(65535, 3, 50);
  add(1, 3, 70);
  add(65535, 2, 60);
  add(1, 3, 40);
  const SiteTexts texts;
  Names names;
  PathTree paths{texts, names};
  const auto threads = sampled_threads(rank, paths);
  ASSERT_EQ(threads.size(), 2U);
  EXPECT_EQ(threads[0].label(), "other thread 2");
  EXPECT_EQ(threads[1].label(), "thread 1");
  ASSERT_EQ(threads[1].samples.size(), 3U);
  EXPECT_EQ(threads[1].samples[0].time, 40U);
  EXPECT_EQ(threads[1].samples[0].interval_ns, 10U);
}

TEST(Counts, have_the_name_of_their_region_and_are_by_end) {
  RankOfRun rank = rank_with_samples();
  rank.trace.counts.push_back(
      {0, {.counter = trace::NameId{0}, .start = nanoseconds{1}, .end = nanoseconds{9}, .value = 5}});
  rank.trace.counts.push_back({0,
                               {.counter = trace::NameId{0},
                                .region = trace::NameId{0},
                                .start = nanoseconds{1},
                                .end = nanoseconds{4},
                                .value = 3}});
  Names names;
  const auto counts = counts_of(rank, names);
  ASSERT_EQ(counts.size(), 2U);
  EXPECT_EQ(names[counts[0].name].text, "cycles in solve");
  EXPECT_EQ(names[counts[1].name].text, "cycles in the thread");
  EXPECT_EQ(counts[1].value, 5);
}

}  // namespace
}  // namespace plait::exports::samples_test
