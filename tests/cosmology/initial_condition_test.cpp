// SPDX-License-Identifier: Apache-2.0
#include "cosmology/initial_condition.hpp"

#include <cmath>
#include <map>
#include <mutex>
#include <numbers>

#include <gtest/gtest.h>

#include "plait/testing/run_program.hpp"

namespace cosmology::initial_condition_test {
namespace {

struct Body {
  Vector place;
  Vector momentum;
  double mass = 0;
};

/// All ranks' bodies by id.
std::map<std::uint64_t, Body> make(const InitialShape& shape, std::uint32_t ranks) {
  std::map<std::uint64_t, Body> all;
  std::mutex mutex;
  plait::test::run_program({.ranks = ranks}, [&](plait::Runtime& runtime) {
    Bodies bodies;
    make_initial_condition(runtime, shape, bodies);
    const std::lock_guard lock{mutex};
    for (std::size_t i = 0; i < bodies.store.size(); ++i) {
      all[bodies.store.ids()[i]] = {
          bodies.store.positions()[i], bodies.store[bodies.momentum][i], bodies.store[bodies.mass][i]};
    }
  });
  return all;
}

double nearest(double difference, double box) {
  return difference - box * std::round(difference / box);
}

TEST(InitialCondition, DoesNotDependOnRanks) {
  const InitialShape shape{.particles = 12, .box = 50};
  const auto alone = make(shape, 1);
  const auto three = make(shape, 3);
  ASSERT_EQ(alone.size(), 12 * 12 * 12);
  ASSERT_EQ(three.size(), alone.size());
  for (const auto& [id, body] : alone) {
    EXPECT_NEAR(body.place.x, three.at(id).place.x, 1e-9);
    EXPECT_NEAR(body.momentum.z, three.at(id).momentum.z, 1e-9);
  }
}

TEST(InitialCondition, HasTheMassOfItsUniverse) {
  const InitialShape shape{.particles = 8, .box = 100};
  double mass = 0;
  for (const auto& [id, body] : make(shape, 2)) {
    mass += body.mass;
  }
  // The critical density is 27.754 h^2 in these units (3 (100 km/s/Mpc)^2 / (8 pi G) in 1e10 solar masses per Mpc^3).
  const double h = shape.universe.hubble;
  EXPECT_NEAR(mass, 27.754 * h * h * shape.universe.matter * 1e6, 1e-3 * mass);
}

TEST(InitialCondition, MovesAsLinearTheoryDoes) {
  // The same waves at two times: displacements grow as `growth`, and momenta are their rates.
  const InitialShape early{.particles = 8, .box = 100, .redshift = 49};
  InitialShape later = early;
  later.redshift = 48.99;
  const Expansion expansion = early.universe.expansion();
  const double a = 1 / (1 + early.redshift);
  const double step = expansion.time(1 / (1 + later.redshift)) - expansion.time(a);
  const auto now = make(early, 1);
  const auto then = make(later, 1);
  for (const auto& [id, body] : now) {
    const double moved = nearest(then.at(id).place.y - body.place.y, early.box);
    const double expected = body.momentum.y / (a * a) * step;
    EXPECT_NEAR(moved, expected, 1e-3 * std::abs(expected) + 1e-9);
  }
}

TEST(InitialCondition, OfAWaveMovesAlongIt) {
  const InitialShape shape{
      .particles = 16, .box = 64, .redshift = 9, .universe = {.matter = 1, .baryons = 0}, .wave_crossing = 0.5};
  const double wave = 2 * std::numbers::pi / 64;
  for (const auto& [id, body] : make(shape, 2)) {
    const auto number = id - 1;
    const double lattice = (static_cast<double>(number / 256) + 0.5) * 4;
    EXPECT_NEAR(nearest(body.place.x - lattice, 64), -0.1 / 0.5 * std::sin(wave * lattice) / wave, 1e-9);
    EXPECT_EQ(body.momentum.y, 0);
  }
}

TEST(InitialCondition, RefusesImpossibleShapes) {
  EXPECT_THROW(make({.particles = 1}, 1), plait::Error);
  EXPECT_THROW(make({.particles = 8, .box = 0}, 2), plait::Error);
  EXPECT_THROW(make({.particles = 8, .redshift = -1}, 1), plait::Error);
  EXPECT_THROW(make({.particles = 8, .universe = {.baryons = 0.5}}, 1), plait::Error);
}

}  // namespace
}  // namespace cosmology::initial_condition_test
