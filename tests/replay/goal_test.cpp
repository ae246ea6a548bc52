// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/goal.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/random.hpp"
#include "plait/replay/expand.hpp"
#include "plait/replay/synthetic.hpp"

#include "replay/hand_made.hpp"
#include "replay/random_schedule.hpp"

namespace plait::replay::goal_test {
namespace {

std::string goal_of(const Schedule& schedule) {
  std::ostringstream out;
  write_goal(schedule, out);
  return out.str();
}

struct GoalOperation {
  std::string what;
  std::uint64_t bytes = 0;
  std::uint32_t peer = 0;
  std::uint64_t tag = 0;
  std::vector<std::string> after;        ///< Labels that must have ended.
  std::vector<std::string> after_begun;  ///< Labels that must have begun.
};

/// Reads the text back; an unknown line fails the test.
std::vector<std::map<std::string, GoalOperation>> parse(const std::string& text) {
  std::istringstream in{text};
  std::vector<std::map<std::string, GoalOperation>> ranks;
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream words{line};
    std::string first;
    std::string second;
    words >> first >> second;
    if (first == "rank") {
      ranks.emplace_back();
    } else if (first.ends_with(":")) {
      GoalOperation operation{.what = second};
      std::string unit;
      std::string word;
      words >> operation.bytes;
      if (second != "calc") {
        words >> unit >> word >> operation.peer >> word >> operation.tag;
        EXPECT_EQ(unit, "b") << line;
      }
      ranks.back()[first.substr(0, first.size() - 1)] = operation;
    } else if (second == "requires" || second == "irequires") {
      std::string earlier;
      words >> earlier;
      EXPECT_TRUE(ranks.back().contains(earlier)) << line;
      auto& later = ranks.back().at(first);
      (second == "requires" ? later.after : later.after_begun).push_back(earlier);
    } else {
      EXPECT_TRUE(first == "num_ranks" || first == "}" || line.empty()) << line;
    }
  }
  return ranks;
}

struct Executed {
  std::size_t left = 0;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, int> messages;
};

/// Does what can be done until nothing can: sends and receives end when both have begun.
Executed execute(const std::vector<std::map<std::string, GoalOperation>>& ranks) {
  std::vector<std::map<std::string, int>> state(ranks.size());  // 1 begun, 2 ended
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>;
  std::map<Key, std::pair<int*, const GoalOperation*>> waiting;
  Executed result;
  for (bool moved = true; moved;) {
    moved = false;
    for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
      for (const auto& [label, operation] : ranks[rank]) {
        int& mine = state[rank][label];
        const auto reached = [&](const std::vector<std::string>& labels, int least) {
          return std::ranges::all_of(labels, [&](const std::string& other) { return state[rank][other] >= least; });
        };
        if (mine != 0 || !reached(operation.after, 2) || !reached(operation.after_begun, 1)) {
          continue;
        }
        moved = true;
        mine = 1;
        if (operation.what == "calc") {
          mine = 2;
          continue;
        }
        const bool is_send = operation.what == "send";
        const Key key{is_send ? rank : operation.peer, is_send ? operation.peer : rank, operation.tag};
        if (const auto partner = waiting.find(key); partner != waiting.end()) {
          EXPECT_NE(partner->second.second->what, operation.what);
          EXPECT_EQ(partner->second.second->bytes, operation.bytes);
          *partner->second.first = mine = 2;
          ++result.messages[{std::get<0>(key), std::get<1>(key), operation.bytes}];
          waiting.erase(partner);
        } else {
          waiting[key] = {&mine, &operation};
        }
      }
    }
  }
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
    for (const auto& [label, operation] : ranks[rank]) {
      result.left += state[rank][label] == 2 ? 0 : 1;
    }
  }
  return result;
}

TEST(Goal, has_threads_wait_for_each_other) {
  const auto ranks = parse(goal_of(two_threads()));
  EXPECT_EQ(execute(ranks).left, 0U);
  // Labels of rank 0: l1 computes, l2 waits, l3 computes; l4 waits, l5 sends, l6 receives, l7 ends both.
  EXPECT_EQ(ranks[0].at("l2").after, (std::vector<std::string>{"l1", "l7"}));
  EXPECT_EQ(ranks[0].at("l4").after, std::vector<std::string>{"l1"});
}

TEST(Goal, writes_computing_messages_and_what_requires_what) {
  EXPECT_EQ(goal_of(synthetic_schedule("pattern=multicast,ranks=2,mean=100,compute=1us").value()),
            "num_ranks 2\n\n"
            "rank 0 {\nl1: calc 1000\nl2: send 100b to 1 tag 0\nl2 requires l1\n"
            "l3: calc 0\nl3 requires l2\nl3 requires l1\nl3 irequires l2\n}\n\n"
            "rank 1 {\nl1: calc 1000\nl2: recv 100b from 0 tag 0\nl2 requires l1\n"
            "l3: calc 0\nl3 requires l2\nl3 requires l1\nl3 irequires l2\n}\n");
}

TEST(Goal, can_be_carried_out_with_the_same_messages) {
  Random random{17};
  for (int i = 0; i < 60; ++i) {
    const Schedule schedule = random_schedule(random, 1 + static_cast<std::uint32_t>(random.below(5)), 80);
    const Executed executed = execute(parse(goal_of(schedule)));
    ASSERT_EQ(executed.left, 0) << i;
    EXPECT_EQ(executed.messages, carry_out(without_collectives(schedule)).messages) << i;
  }
}

TEST(Goal, says_when_a_file_cannot_be_written) {
  const Schedule schedule = synthetic_schedule("ranks=2").value();
  EXPECT_THROW(write_goal(schedule, std::filesystem::path{"/nowhere/at/all.goal"}), Error);
}

}  // namespace
}  // namespace plait::replay::goal_test
