// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/domains/exchange.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/particles/store/detail/inside.hpp"

#include "comm/collectives/many_ranks.hpp"

namespace plait::particles::exchange_test {
namespace {

using comm::test::ManyRanks;

/// Ranks whose domains are even parts of the unit cube.
struct Exchanging {
  Exchanging(ManyRanks& all, const DomainGrid& grid, const Space& where) : ranks{all}, space{where} {
    std::vector<double> cuts;
    const auto add_cuts = [&](std::uint32_t times, std::uint32_t parts) {
      for (std::uint32_t i = 0; i < times; ++i) {
        for (std::uint32_t cut = 1; cut < parts; ++cut) {
          cuts.push_back(static_cast<double>(cut) / parts);
        }
      }
    };
    add_cuts(1, grid.x);
    add_cuts(grid.x, grid.y);
    add_cuts(grid.x * grid.y, grid.z);
    for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
      stores.push_back(std::make_unique<Particles>());
      age = stores.back()->add_field<float>("age");
      domains.emplace_back(grid, Rank{rank}, cuts);
      exchanges.push_back(std::make_unique<ParticleExchange>(ranks[rank], space, *stores.back()));
    }
  }
  void add(std::size_t rank, const Vector& position) {
    Particles& store = *stores[rank];
    const std::size_t place = store.add(1);
    store.positions()[place] = position;
    store.ids()[place] = next_id;
    store[age][place] = static_cast<float>(next_id) / 2;
    wanted[next_id++] = position;
  }
  void exchange(Travel travel) {
    std::vector<comm::Request> requests;
    for (std::size_t rank = 0; rank < exchanges.size(); ++rank) {
      exchanges[rank]->begin_search(domains[rank], 3);
      for (const std::uint32_t piece : {2, 0, 1}) {
        exchanges[rank]->search_piece(piece);
      }
      requests.push_back(exchanges[rank]->move(travel));
      ranks.stagger();
    }
    ranks.settle(requests);
    for (std::size_t rank = 0; rank < exchanges.size(); ++rank) {
      (void)requests[rank].status();
      exchanges[rank]->finish();
    }
  }
  /// Every particle is somewhere, once, and whole; how many are not at home.
  [[nodiscard]] std::size_t check() const {
    std::size_t away = 0;
    std::map<std::uint64_t, int> seen;
    for (std::size_t rank = 0; rank < stores.size(); ++rank) {
      Particles& store = *stores[rank];
      for (std::size_t i = 0; i < store.size(); ++i) {
        const std::uint64_t id = store.ids()[i];
        EXPECT_EQ(++seen[id], 1) << id;
        EXPECT_EQ(store[age][i], static_cast<float>(id) / 2);
        EXPECT_EQ(store.positions()[i], space.wrap(wanted.at(id)));
        away += domains[rank].hop(space.place(store.positions()[i])) ? 1 : 0;
      }
    }
    EXPECT_EQ(seen.size(), wanted.size());
    return away;
  }

  ManyRanks& ranks;
  Space space;
  Field<float> age;
  std::vector<std::unique_ptr<Particles>> stores;
  std::vector<Domain> domains;
  std::vector<std::unique_ptr<ParticleExchange>> exchanges;
  std::map<std::uint64_t, Vector> wanted;
  std::uint64_t next_id = 1;
};

const Space periodic{.root = {{0, 0, 0}, {1, 1, 1}}, .periodic = {true, true, true}};

TEST(ParticleExchange, brings_all_home_from_anywhere_at_once) {
  for (const DomainGrid& grid :
       {DomainGrid{1, 1, 1}, DomainGrid{2, 1, 1}, DomainGrid{1, 1, 5}, DomainGrid{3, 2, 2}, DomainGrid{4, 4, 4}}) {
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      SCOPED_TRACE(testing::Message() << grid.x << " x " << grid.y << " x " << grid.z << ", seed " << seed);
      ManyRanks ranks{static_cast<std::uint32_t>(grid.ranks()), seed};
      Exchanging exchanging{ranks, grid, seed == 1 ? periodic : Space{}};
      std::mt19937_64 random{seed};
      std::uniform_real_distribution<double> some{-0.5, 1.5};
      for (int i = 0; i < 2000; ++i) {
        exchanging.add(random() % grid.ranks(), {some(random), some(random), some(random)});
      }
      exchanging.exchange(Travel::everywhere);
      EXPECT_EQ(exchanging.check(), 0U);
    }
  }
}

TEST(ParticleExchange, brings_particles_of_a_ring_home) {
  // The first sector is wider than half a circle, the others are narrower.
  for (const DomainGrid& grid : {DomainGrid{4, 1, 1}, DomainGrid{2, 2, 2}, DomainGrid{1, 3, 1}}) {
    ManyRanks ranks{static_cast<std::uint32_t>(grid.ranks()), 1};
    Exchanging exchanging{ranks, grid, {.coordinates = Coordinates::cylindrical}};
    std::mt19937_64 random{2};
    std::uniform_real_distribution<double> some{-3, 3};
    for (int i = 0; i < 4000; ++i) {
      exchanging.add(random() % grid.ranks(), {some(random), some(random), some(random)});
    }
    for (const Vector& edge : {Vector{-1, 0, 0}, Vector{-1, -0.0, 0}, Vector{1, 0, 0}, Vector{0, 0, 0}}) {
      exchanging.add(0, edge);
    }
    exchanging.exchange(Travel::everywhere);
    EXPECT_EQ(exchanging.check(), 0U);
    exchanging.exchange(Travel::neighbors);
    EXPECT_EQ(exchanging.exchanges[0]->counts().exchanges, 2U);
    EXPECT_EQ(exchanging.check(), 0U);
  }
}

TEST(ParticleExchange, knows_most_of_those_inside_at_a_glance) {
  std::mt19937_64 random{3};
  std::uniform_real_distribution<double> some{-3, 3};
  const Space space{.coordinates = Coordinates::cylindrical};
  for (const DomainGrid& grid : {DomainGrid{4, 1, 1}, DomainGrid{2, 2, 2}, DomainGrid{1, 3, 1}}) {
    const std::vector<double> cuts = [&] {
      std::vector<double> all(grid.x - 1);
      std::iota(all.begin(), all.end(), -1.0);
      all.insert(all.end(), std::size_t{grid.x} * (grid.y - 1), 0.5);
      all.insert(all.end(), std::size_t{grid.x} * grid.y * (grid.z - 1), 0.25);
      return all;
    }();
    for (std::uint32_t rank = 0; rank < grid.ranks(); ++rank) {
      const Domain domain{grid, Rank{rank}, cuts};
      const detail::CylindricalInside inside{domain.box()};
      int missed = 0;
      for (int i = 0; i < 2000; ++i) {
        const Vector p{some(random), some(random), some(random)};
        const bool is_home = !domain.hop(space.place(p));
        EXPECT_TRUE(is_home || !inside.surely_has(p));
        missed += is_home && !inside.surely_has(p) ? 1 : 0;
      }
      EXPECT_LE(missed, 1);
    }
  }
}

TEST(ParticleExchange, brings_particles_home_from_neighbors_in_one_turn_also_over_corners) {
  for (const bool is_periodic : {false, true}) {
    ManyRanks ranks{64, 1};
    Exchanging exchanging{ranks, {4, 4, 4}, is_periodic ? periodic : Space{}};
    std::mt19937_64 random{1};
    std::uniform_real_distribution<double> some{0, 1};
    std::uniform_real_distribution<double> little{-0.25, 0.25};
    for (int i = 0; i < 3000; ++i) {
      const Vector from{some(random), some(random), some(random)};
      const auto part = [](double x) { return static_cast<std::uint32_t>(4 * x); };
      exchanging.add(DomainGrid{4, 4, 4}.rank_of({part(from.x), part(from.y), part(from.z)}).value(),
                     from + Vector{little(random), little(random), little(random)});
    }
    exchanging.exchange(Travel::neighbors);
    EXPECT_EQ(exchanging.check(), 0U);
    EXPECT_LE(exchanging.exchanges[21]->counts().messages, 6U);
  }
}

TEST(ParticleExchange, brings_particles_home_over_a_boundary_that_slides_by_any_displacement) {
  for (const DomainGrid grid : {DomainGrid{3, 6, 2}, DomainGrid{1, 6, 1}, DomainGrid{2, 4, 1}}) {
    ManyRanks ranks{static_cast<std::uint32_t>(grid.ranks()), 3};
    Space space = periodic;
    space.shear = {.rate = 1, .time = 0.45};
    Exchanging test{ranks, grid, space};
    for (std::uint32_t y = 0; y < grid.y; ++y) {
      const double middle = (y + 0.5) / grid.y;
      test.add(grid.rank_of({0, y, 0}).value(), {-0.01, middle, 0.25});
      test.add(grid.rank_of({grid.x - 1, y, grid.z - 1}).value(), {1.01, middle, 0.75});
    }
    test.exchange(Travel::neighbors);
    EXPECT_EQ(test.check(), 0U);
  }
}

TEST(ParticleExchange, brings_who_comes_from_afar_home_in_several_turns) {
  for (const bool is_periodic : {false, true}) {
    ManyRanks ranks{20, 2};
    Exchanging exchanging{ranks, {10, 2, 1}, is_periodic ? periodic : Space{}};
    exchanging.add(0, {0.95, 0.9, 0});
    exchanging.add(0, {0.45, 0.9, 0});
    for (int turn = 0; turn < (is_periodic ? 1 : 9); ++turn) {
      EXPECT_GT(turn == 0 ? 2U : exchanging.check(), is_periodic ? 1U : 0U);
      exchanging.exchange(Travel::neighbors);
    }
    EXPECT_EQ(exchanging.check(), is_periodic ? 1U : 0U) << "the short way round, where there is one";
  }
}

TEST(ParticleExchange, concerns_nobody_off_the_way_of_a_runaway) {
  ManyRanks ranks{64, 1};
  Exchanging exchanging{ranks, {4, 4, 4}, {}};
  exchanging.add(0, {1e30, 0.1, -1e30});
  exchanging.add(63, {0.9, 0.9, 0.9});
  for (int turn = 0; turn < 4; ++turn) {
    exchanging.exchange(Travel::neighbors);
  }
  EXPECT_EQ(exchanging.check(), 0U);
  for (const auto& exchange : exchanging.exchanges) {
    EXPECT_LE(exchange->counts().messages, 4U * 6);
  }
  EXPECT_EQ(exchanging.exchanges[5]->counts().bytes, 0U);
}

TEST(ParticleExchange, names_a_particle_that_is_nowhere) {
  ManyRanks ranks{2, 0};
  Exchanging exchanging{ranks, {2, 1, 1}, periodic};
  exchanging.add(0, {0.1, 0.1, 0.1});
  exchanging.add(0, {0.1, std::numeric_limits<double>::quiet_NaN(), 0.1});
  try {
    exchanging.exchanges[0]->search(exchanging.domains[0]);
    FAIL() << "it has no home";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    EXPECT_NE(std::string{error.what()}.find("particle 2 is at (0.1, nan, 0.1)"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace plait::particles::exchange_test
