// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/groups/friends_of_friends.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/testing/run_program.hpp"

#include "particles/samples.hpp"

namespace plait::particles::friends_of_friends_test {
namespace {

using test::Sample;

struct Body {
  Vector place;
  Vector velocity;
  double mass = 1;
};

struct Case {
  std::vector<Body> bodies;  ///< Ids are their numbers, from 7 on.
  Space space;
  double length = 0.05;
  std::uint64_t members_min = 2;
};

struct Found {
  std::map<std::uint64_t, FriendGroup> groups;
  std::vector<std::uint64_t> of_body;
};

Found find(const Case& test, std::uint32_t ranks) {
  Found found{.groups = {}, .of_body = std::vector<std::uint64_t>(test.bodies.size())};
  std::mutex mutex;
  plait::test::run_program({.ranks = ranks}, [&](Runtime& runtime) {
    Sample sample;
    for (std::size_t i = runtime.self().value(); i < test.bodies.size(); i += ranks) {
      const std::size_t at = sample.store.add(1);
      sample.store.positions()[at] = test.bodies[i].place;
      sample.store.ids()[at] = i + 7;
      sample.store[sample.mass][at] = test.bodies[i].mass;
      sample.store[sample.velocity][at] = test.bodies[i].velocity;
    }
    const FriendGroups mine = friends_of_friends(runtime.messages(),
                                                 runtime.scheduler(),
                                                 sample.store,
                                                 {.mass = sample.mass,
                                                  .velocity = sample.velocity,
                                                  .space = test.space,
                                                  .linking_length = test.length,
                                                  .members_min = test.members_min});
    const std::lock_guard lock{mutex};
    for (const FriendGroup& group : mine.groups) {
      EXPECT_TRUE(found.groups.emplace(group.id, group).second) << "a group is on one rank";
    }
    for (std::size_t i = 0; i < sample.store.size(); ++i) {
      found.of_body[sample.store.ids()[i] - 7] = mine.of_particle[i];
    }
  });
  return found;
}

/// The smallest id that each body is joined with, by all pairs.
std::vector<std::uint64_t> by_all_pairs(const Case& test) {
  std::vector<std::uint64_t> labels;
  for (std::size_t i = 0; i < test.bodies.size(); ++i) {
    labels.push_back(i + 7);
  }
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (std::size_t i = 0; i < test.bodies.size(); ++i) {
      for (std::size_t j = 0; j < test.bodies.size(); ++j) {
        const Vector d = test.space.nearest(test.bodies[i].place - test.bodies[j].place);
        if (dot(d, d) <= test.length * test.length && labels[j] < labels[i]) {
          labels[i] = labels[j];
          has_changed = true;
        }
      }
    }
  }
  std::map<std::uint64_t, std::uint64_t> members;
  for (const std::uint64_t label : labels) {
    ++members[label];
  }
  for (std::uint64_t& label : labels) {
    label = members[label] < test.members_min ? FriendGroups::none : label;
  }
  return labels;
}

Case random_case(bool is_periodic) {
  Case test;
  std::mt19937_64 random{5};
  std::uniform_real_distribution<double> unit{0, 1};
  for (int i = 0; i < 900; ++i) {
    const double size = i % 3 == 0 ? 1 : 0.4;
    test.bodies.push_back({.place = {size * unit(random), size * unit(random), unit(random)},
                           .velocity = {unit(random), unit(random), unit(random)},
                           .mass = 0.5 + unit(random)});
  }
  if (is_periodic) {
    test.space = {.root = {{0, 0, 0}, {1, 1, 1}}, .periodic = {true, true, true}};
  }
  return test;
}

TEST(FriendsOfFriends, AreThoseOfAllPairs) {
  for (const bool is_periodic : {false, true}) {
    Case test = random_case(is_periodic);
    test.members_min = 4;
    const std::vector<std::uint64_t> expected = by_all_pairs(test);
    std::set<std::uint64_t> groups{expected.begin(), expected.end()};
    groups.erase(FriendGroups::none);
    ASSERT_GT(groups.size(), 5);
    for (const std::uint32_t ranks : {1U, 2U, 3U, 7U}) {
      const Found found = find(test, ranks);
      EXPECT_EQ(found.of_body, expected) << ranks;
      EXPECT_EQ(found.groups.size(), groups.size()) << ranks;
      for (const auto& [id, group] : found.groups) {
        EXPECT_EQ(group.members, static_cast<std::uint64_t>(std::ranges::count(expected, id)));
      }
    }
  }
}

TEST(FriendsOfFriends, AChainThroughAllRanksIsOneGroup) {
  Case test;
  std::vector<Vector> places;
  for (int i = 0; i < 400; ++i) {  // a spiral, in an order that jumps
    const double turn = 0.04 * (i * 147 % 400);
    test.bodies.push_back({.place = {(1 + turn / 20) * std::cos(turn), (1 + turn / 20) * std::sin(turn), turn / 10}});
  }
  test.length = 0.08;
  const Found found = find(test, 7);
  ASSERT_EQ(found.groups.size(), 1);
  EXPECT_EQ(found.groups.begin()->second.members, 400);
  EXPECT_EQ(found.groups.begin()->first, 7);
}

TEST(FriendsOfFriends, SumsAreAboutTheCentreAcrossAPeriodicEdge) {
  Case test{.bodies = {{{0.01, 0.5, 0.99}, {1, 0, 0}, 3}, {{0.98, 0.5, 0.01}, {0, 2, 0}, 1}, {{0.5, 0.5, 0.5}, {}, 1}},
            .space = {.root = {{0, 0, 0}, {1, 1, 1}}, .periodic = {true, true, true}}};
  const Found found = find(test, 2);
  ASSERT_EQ(found.groups.size(), 1);
  const FriendGroup& group = found.groups.at(7);
  EXPECT_EQ(group.members, 2);
  EXPECT_DOUBLE_EQ(group.mass, 4);
  EXPECT_NEAR(group.centre.x, 0.01 - 0.03 / 4, 1e-12);
  EXPECT_NEAR(group.centre.z, 0.99 + 0.02 / 4, 1e-12);
  EXPECT_NEAR(group.velocity.x, 0.75, 1e-12);
  EXPECT_NEAR(group.velocity.y, 0.5, 1e-12);
  EXPECT_NEAR(group.radius(), std::sqrt(3 * 1 / 16.0 * (0.0009 + 0.0004)), 1e-12);
  EXPECT_NEAR(group.speed(), std::sqrt(3 * 1 / 16.0 * (1 + 4)), 1e-12);
  EXPECT_EQ(found.of_body[2], FriendGroups::none);
}

TEST(FriendsOfFriends, OfNoParticlesAreNone) {
  EXPECT_TRUE(find({}, 2).groups.empty());
}

TEST(FriendsOfFriends, RefuseImpossibleLengths) {
  Case test = random_case(true);
  test.length = 0;
  EXPECT_THROW(find(test, 2), Error);
  test.length = 0.6;
  EXPECT_THROW(find(test, 1), Error);
}

}  // namespace
}  // namespace plait::particles::friends_of_friends_test
