// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/neighbours/neighbour_lists.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/particles/steps/system.hpp"
#include "plait/testing/run_program.hpp"

namespace plait::particles::neighbour_lists_test {
namespace {

/// By id: the ids of neighbours, ascending.
using Lists = std::map<std::uint64_t, std::vector<std::uint64_t>>;

enum class RadiusFrom : std::uint8_t { all, floats, doubles };

struct Case {
  std::size_t count = 300;
  Space space;
  Search search = Search::gather;
  RadiusFrom radius = RadiusFrom::doubles;
  double radius_max = 0.15;
  Kinds targets;
  Kinds sources;
  int updates = 1;
};

/// All particles of a case, which every rank can compute. Some share a position.
struct Cloud {
  explicit Cloud(const Case& test) {
    std::mt19937_64 random{test.count};
    std::uniform_real_distribution<double> coordinate{0, 1};
    for (std::size_t i = 0; i < test.count; ++i) {
      const double size = i % 4 == 0 ? 1 : 0.3;
      const Vector place{size * coordinate(random), size * coordinate(random), coordinate(random)};
      places.push_back(i % 50 == 49 ? places.back() : place);
      const double own = test.radius_max * (0.2 + 0.8 * coordinate(random));
      radii.push_back(test.radius == RadiusFrom::all      ? test.radius_max
                      : test.radius == RadiusFrom::floats ? static_cast<double>(static_cast<float>(own))
                                                          : own);
    }
  }
  std::vector<Vector> places;
  std::vector<double> radii;
};

std::uint8_t kind_of(std::uint64_t id) {
  return static_cast<std::uint8_t>(id % 3);
}

Lists all_pairs(const Case& test) {
  const Cloud cloud{test};
  Lists lists;
  for (std::size_t i = 0; i < test.count; ++i) {
    std::vector<std::uint64_t>& list = lists[i];
    for (std::size_t j = 0; j < test.count && test.targets.has(kind_of(i)); ++j) {
      const Vector d = test.space.nearest(cloud.places[i] - cloud.places[j]);
      const double limit = test.search == Search::gather    ? cloud.radii[i]
                           : test.search == Search::scatter ? cloud.radii[j]
                                                            : std::max(cloud.radii[i], cloud.radii[j]);
      if (i != j && test.sources.has(kind_of(j)) && dot(d, d) <= limit * limit) {
        list.push_back(j);
      }
    }
  }
  return lists;
}

Lists found(const Case& test, std::uint32_t ranks) {
  Lists lists;
  std::mutex mutex;
  const Cloud cloud{test};
  plait::test::run_program({.ranks = ranks}, {.worker_count = 2}, [&](Runtime& runtime) {
    Particles store;
    const auto floats = store.add_field<float>("radius");
    const auto doubles = store.add_field<double>("exact radius");
    for (std::size_t i = runtime.self().value(); i < test.count; i += ranks) {
      const std::size_t place = store.add(1);
      store.ids()[place] = i;
      store[Particles::kind][place] = kind_of(i);
      store.positions()[place] = cloud.places[i];
      store[floats][place] = static_cast<float>(cloud.radii[i]);
      store[doubles][place] = cloud.radii[i];
    }
    NeighbourOptions options{.search = test.search, .targets = test.targets, .sources = test.sources};
    if (test.radius == RadiusFrom::all) {
      options.radius = test.radius_max;
    } else if (test.radius == RadiusFrom::floats) {
      options.radius = floats;
    } else {
      options.radius = doubles;
    }
    System system{runtime.messages(), runtime.scheduler(), store, {.space = test.space}};
    const NeighbourLists& neighbours = system.add_neighbour_lists(options);
    for (int i = 0; i < test.updates; ++i) {
      system.update();
    }
    const std::lock_guard lock{mutex};
    for (std::size_t i = 0; i < store.size(); ++i) {
      std::vector<std::uint64_t>& list = lists[store.ids()[i]];
      for (const Particles::Index index : neighbours.neighbours(i)) {
        const std::uint64_t id = neighbours.value(Particles::id, index);
        EXPECT_EQ(neighbours.value(Particles::position, index), cloud.places[id]);
        list.push_back(id);
      }
      std::ranges::sort(list);
    }
  });
  return lists;
}

const Space box{.root = {{0, 0, 0}, {1, 1, 1}}, .periodic = {true, true, true}};

class NeighboursOnRanks : public testing::TestWithParam<std::uint32_t> {};

TEST_P(NeighboursOnRanks, lists_are_those_of_all_pairs_for_every_search_radius_and_box) {
  const Space column{.root = {{0, 0, 0}, {1, 1, 1}}, .periodic = {false, true, false}};
  for (const Space& space : {Space{}, box, column}) {
    for (const Search search : {Search::gather, Search::scatter, Search::symmetric}) {
      for (const RadiusFrom radius : {RadiusFrom::all, RadiusFrom::floats, RadiusFrom::doubles}) {
        const Case test{.space = space, .search = search, .radius = radius};
        EXPECT_EQ(found(test, GetParam()), all_pairs(test));
      }
    }
  }
}

TEST_P(NeighboursOnRanks, lists_have_the_wanted_kinds_only) {
  const Case test{.space = box, .search = Search::symmetric, .targets = {0, 2}, .sources = {1}};
  EXPECT_EQ(found(test, GetParam()), all_pairs(test));
}

TEST_P(NeighboursOnRanks, a_radius_beyond_the_box_lists_each_other_particle_once) {
  const Case test{.count = 40, .space = box, .radius = RadiusFrom::all, .radius_max = 3};
  const Lists lists = found(test, GetParam());
  EXPECT_EQ(lists, all_pairs(test));
  EXPECT_EQ(lists.at(7).size(), 39U);
}

TEST_P(NeighboursOnRanks, lists_of_each_update_replace_those_before) {
  const Case test{.space = box, .updates = 3};
  EXPECT_EQ(found(test, GetParam()), all_pairs(test));
}

TEST_P(NeighboursOnRanks, few_particles_have_lists_where_most_ranks_have_none) {
  const Case test{.count = 3, .radius = RadiusFrom::all, .radius_max = 10};
  EXPECT_EQ(found(test, GetParam()), all_pairs(test));
  EXPECT_TRUE(found({.count = 0}, GetParam()).empty());
}

INSTANTIATE_TEST_SUITE_P(Ranks, NeighboursOnRanks, testing::Values(1, 2, 3, 7), [](const auto& instance) {
  return std::to_string(instance.param);
});

TEST(NeighbourLists, have_a_neighbour_at_exactly_the_radius) {
  plait::test::run_program({.ranks = 1}, [](Runtime& runtime) {
    Particles store;
    store.add(3);
    store.positions()[1] = {0.3, 0, 0};
    store.positions()[2] = {std::nextafter(-0.3, -1.0), 0, 0};
    store.ids()[1] = 1;
    store.ids()[2] = 2;
    System system{runtime.messages(), runtime.scheduler(), store};
    const NeighbourLists& lists = system.add_neighbour_lists({.radius = 0.3});
    EXPECT_TRUE(lists.offsets().empty());
    system.update();
    ASSERT_EQ(lists.offsets().size(), 4U);
    const auto origin = static_cast<std::size_t>(std::ranges::find(store.ids(), 0U) - store.ids().begin());
    ASSERT_EQ(lists.neighbours(origin).size(), 1U);
    EXPECT_EQ(lists.value(Particles::id, lists.neighbours(origin).front()), 1U);
  });
}

TEST(NeighbourLists, refuse_radii_that_cannot_be) {
  const auto message_for = [](double radius, bool is_for_all) {
    std::string message;
    plait::test::run_program({.ranks = 1}, [&](Runtime& runtime) {
      Particles store;
      const auto field = store.add_field<double>("radius");
      store.add(1);
      store.ids()[0] = 12;
      store[field][0] = radius;
      System system{runtime.messages(), runtime.scheduler(), store};
      try {
        system.add_neighbour_lists(is_for_all ? NeighbourOptions{.radius = radius} : NeighbourOptions{.radius = field});
        system.update();
      } catch (const Error& error) {
        message = error.what();
      }
    });
    return message;
  };
  EXPECT_NE(message_for(-1, true).find("the radius of neighbours is -1"), std::string::npos);
  EXPECT_NE(message_for(std::numeric_limits<double>::quiet_NaN(), false).find("particle 12 "), std::string::npos);
}

}  // namespace
}  // namespace plait::particles::neighbour_lists_test
