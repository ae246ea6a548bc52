// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/domains/decompose.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <random>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"

#include "comm/collectives/many_ranks.hpp"

namespace plait::particles::decompose_test {
namespace {

using comm::test::ManyRanks;

/// A decomposition on each of some ranks, driven by one thread.
struct Cutting {
  Cutting(ManyRanks& all, const DomainGrid& grid, const Space& space, const DecompositionOptions& options = {})
      : ranks{all} {
    for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
      stores.push_back(std::make_unique<Particles>());
      cutters.push_back(std::make_unique<Decomposition>(ranks[rank], space, grid, options));
      domains.emplace_back(grid, Rank{rank});
    }
  }
  void add(std::size_t rank, const Vector& position, float cost = 0) {
    Particles& store = *stores[rank];
    const std::size_t place = store.add(1);
    store.positions()[place] = position;
    store.ids()[place] = next_id++;
    store[Particles::cost][place] = cost;
  }
  void cut() {
    std::vector<comm::Request> requests;
    for (std::size_t rank = 0; rank < cutters.size(); ++rank) {
      cutters[rank]->choose(*stores[rank]);
      requests.push_back(cutters[rank]->cut(domains[rank]));
      ranks.stagger();
    }
    ranks.settle(requests);
    for (const comm::Request& request : requests) {
      (void)request.status();
    }
  }
  /// The rank that `place` ends on, by hops from `rank`.
  [[nodiscard]] std::uint32_t home_of(const Vector& place, std::uint32_t rank) const {
    while (const auto hop = domains[rank].hop(place)) {
      rank = domains[rank].rank_of(*hop).value();
    }
    return rank;
  }
  /// The largest cost of a domain, in means.
  [[nodiscard]] double largest_domain(const Space& space) const {
    std::vector<double> costs(domains.size());
    double total = 0;
    for (std::size_t rank = 0; rank < stores.size(); ++rank) {
      for (std::size_t i = 0; i < stores[rank]->size(); ++i) {
        const float cost = (*stores[rank])[Particles::cost][i];
        costs[home_of(space.place(stores[rank]->positions()[i]), static_cast<std::uint32_t>(rank))] +=
            cost > 0 ? cost : 1;
        total += cost > 0 ? cost : 1;
      }
    }
    return *std::ranges::max_element(costs) * static_cast<double>(costs.size()) / total;
  }

  ManyRanks& ranks;
  std::vector<std::unique_ptr<Particles>> stores;
  std::vector<std::unique_ptr<Decomposition>> cutters;
  std::vector<Domain> domains;
  std::uint64_t next_id = 1;
};

Vector somewhere(std::mt19937_64& random) {
  const auto some = [&] { return std::uniform_real_distribution{}(random); };
  return {some(), some(), some()};
}

TEST(Decomposition, gives_all_domains_the_same_weight_wherever_particles_are) {
  for (const DomainGrid& grid : {DomainGrid{1, 1, 1},
                                 DomainGrid{2, 1, 1},
                                 DomainGrid{1, 3, 1},
                                 DomainGrid{1, 1, 4},
                                 DomainGrid{3, 2, 2},
                                 DomainGrid{4, 4, 4}}) {
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      SCOPED_TRACE(testing::Message() << grid.x << " x " << grid.y << " x " << grid.z << ", seed " << seed);
      ManyRanks ranks{static_cast<std::uint32_t>(grid.ranks()), seed};
      Cutting cutting{ranks, grid, {}};
      std::mt19937_64 random{seed};
      for (std::size_t i = 0; i < grid.ranks() * 300; ++i) {
        // All begin on few ranks, and lie closer together at small x.
        Vector place = somewhere(random);
        place.x *= place.x;
        cutting.add(i % (1 + grid.ranks() / 2), place, place.y < 0.5 ? 3.0F : 1.0F);
      }
      cutting.cut();
      EXPECT_LT(cutting.largest_domain({}), 1.6);
      // All that know a cut agree on it.
      for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
        const auto parts = grid.parts_of(Rank{rank});
        const Domain& first = cutting.domains[grid.rank_of({parts[0], 0, 0}).value()];
        EXPECT_TRUE(std::ranges::equal(cutting.domains[rank].cuts(0), cutting.domains[0].cuts(0)));
        EXPECT_TRUE(std::ranges::equal(cutting.domains[rank].cuts(1), first.cuts(1)));
      }
    }
  }
}

TEST(Decomposition, cuts_rings_by_azimuth) {
  ManyRanks ranks{4, 1};
  const Space space{.coordinates = Coordinates::cylindrical};
  Cutting cutting{ranks, {4, 1, 1}, space};
  for (int i = 0; i < 4000; ++i) {
    const double azimuth = 2 * 3.14159265358979 * i / 4000;
    cutting.add(static_cast<std::size_t>(i % 4), {std::cos(azimuth), std::sin(azimuth), 0});
  }
  cutting.cut();
  EXPECT_NEAR(cutting.domains[2].cuts(0)[1], 0, 0.1);
  EXPECT_LT(cutting.largest_domain(space), 1.15);
}

TEST(Decomposition, gives_the_same_cuts_in_every_run) {
  std::vector<std::vector<double>> cuts;
  for (std::uint64_t seed = 1; seed < 4; ++seed) {
    ManyRanks ranks{8, seed};
    Cutting cutting{ranks, {2, 2, 2}, {}};
    std::mt19937_64 random{5};
    for (std::size_t i = 0; i < 3000; ++i) {
      cutting.add(i % 8, somewhere(random));
    }
    cutting.cut();
    cutting.cut();
    std::vector<Box> boxes;
    std::ranges::transform(cutting.domains, std::back_inserter(boxes), &Domain::box);
    cuts.push_back(all_cuts({2, 2, 2}, boxes));
  }
  EXPECT_EQ(cuts[0], cuts[1]);
  EXPECT_EQ(cuts[0], cuts[2]);
}

TEST(Decomposition, keeps_a_share_of_the_old_cuts) {
  ManyRanks ranks{2, 1};
  Cutting cutting{ranks, {2, 1, 1}, {}, {.samples = 1000, .share_of_old = 0.75}};
  for (int i = 0; i < 1000; ++i) {
    cutting.add(static_cast<std::size_t>(i % 2), {i / 1000.0, 0, 0});
  }
  cutting.cut();
  EXPECT_NEAR(cutting.domains[0].cuts(0)[0], 0.5, 0.02);
  for (auto& store : cutting.stores) {
    for (Vector& position : store->positions()) {
      position.x += 1;
    }
  }
  cutting.cut();
  EXPECT_NEAR(cutting.domains[0].cuts(0)[0], 0.75, 0.02);
}

TEST(Decomposition, weighs_those_who_have_not_been_measured_as_the_mean) {
  ManyRanks ranks{2, 1};
  Cutting cutting{ranks, {2, 1, 1}, {}, {.samples = 1000}};
  for (int i = 0; i < 1000; ++i) {
    cutting.add(i < 500 ? 0 : 1, {i / 1000.0, 0, 0}, i < 500 ? 1000.0F : 0);
  }
  cutting.cut();
  EXPECT_NEAR(cutting.domains[0].cuts(0)[0], 0.5, 0.02);
}

TEST(Decomposition, does_with_few_particles_or_none) {
  ManyRanks ranks{12, 1};
  Cutting none{ranks, {3, 2, 2}, {}};
  none.cut();
  EXPECT_FALSE(none.domains[5].is_cut());
  ManyRanks others{12, 2};
  Cutting few{others, {3, 2, 2}, {}};
  few.add(3, {1, 2, 3});
  few.add(3, {1, 2, 3});
  few.add(7, {1, 2, 3});
  few.cut();
  const std::uint32_t home = few.home_of({1, 2, 3}, 0);
  for (std::uint32_t rank = 0; rank < 12; ++rank) {
    EXPECT_EQ(few.home_of({1, 2, 3}, rank), home) << "those at one place have one home";
    EXPECT_TRUE(few.domains[rank].is_cut());
  }
}

TEST(Decomposition, names_a_particle_that_is_nowhere) {
  Particles store;
  store.add(3);
  store.ids()[1] = 77;
  store.positions()[1] = {0, std::numeric_limits<double>::infinity(), 0};
  try {
    (void)choose_samples(store, {}, 100);
    FAIL() << "an infinite position is no place";
  } catch (const Error& error) {
    EXPECT_NE(std::string{error.what()}.find("particle 77 is at (0, inf, 0)"), std::string::npos) << error.what();
  }
}

TEST(Decomposition, refuses_what_does_not_fit) {
  ManyRanks ranks{2, 0};
  EXPECT_THROW((Decomposition{ranks[0], {}, {3, 1, 1}}), Error);
  EXPECT_THROW((Decomposition{ranks[0], {.periodic = {true, false, false}}, {2, 1, 1}}), Error);
  EXPECT_THROW((Decomposition{ranks[0], {}, {2, 1, 1}, {.share_of_old = 1}}), Error);
}

TEST(Decomposition, concerns_ranks_like_the_side_of_their_grid) {
  ManyRanks ranks{64, 1};
  Cutting cutting{ranks, {4, 4, 4}, {}};
  std::mt19937_64 random{5};
  for (std::size_t i = 0; i < 6400; ++i) {
    cutting.add(i % 64, somewhere(random));
  }
  cutting.cut();
  EXPECT_EQ(cutting.cutters[0]->counts().messages, 3U + 3U) << "samples go along two axes";
  EXPECT_LE(cutting.cutters[0]->counts().reductions, 1U + 3 * 6);
}

TEST(Decomposition, sends_no_samples_when_the_last_axis_is_cut) {
  for (const auto& [grid, messages] : {std::pair{DomainGrid{16, 1, 1}, 0U}, std::pair{DomainGrid{4, 4, 1}, 3U}}) {
    ManyRanks ranks{16, 1};
    Cutting cutting{ranks, grid, {}};
    std::mt19937_64 random{5};
    for (std::size_t i = 0; i < 1600; ++i) {
      cutting.add(i % 16, somewhere(random));
    }
    cutting.cut();
    EXPECT_EQ(cutting.cutters[0]->counts().messages, messages) << grid.x << " x " << grid.y;
  }
}

}  // namespace
}  // namespace plait::particles::decompose_test
