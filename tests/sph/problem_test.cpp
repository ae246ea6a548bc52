// SPDX-License-Identifier: Apache-2.0
#include "sph/problem.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "sph/diagnostics.hpp"

namespace sph::problem_test {
namespace {

TEST(Problem, ranks_share_every_particle_once) {
  for (const ProblemKind& kind : problem_kinds()) {
    const Problem problem = make_problem(kind.name, {.resolution = 4});
    Particles whole;
    const GasFields fields{whole};
    add_particles(problem, whole, fields, 0, 1);
    std::set<std::uint64_t> ids;
    std::size_t total = 0;
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      Particles part;
      const GasFields same{part};
      add_particles(problem, part, same, rank, 3);
      ids.insert(part.ids().begin(), part.ids().end());
      total += part.size();
    }
    EXPECT_EQ(total, whole.size()) << kind.name;
    EXPECT_EQ(ids.size(), whole.size()) << kind.name;
  }
}

TEST(Problem, particles_begin_in_their_box) {
  for (const ProblemKind& kind : problem_kinds()) {
    const Problem problem = make_problem(kind.name, {.resolution = 6});
    Particles store;
    const GasFields fields{store};
    add_particles(problem, store, fields, 0, 1);
    for (const Vector& at : store.positions()) {
      ASSERT_TRUE(problem.space.root.contains({at, at})) << kind.name;
    }
  }
}

TEST(Problem, masses_are_those_of_the_problem) {
  const auto mass_of = [](const char* name, std::uint32_t resolution) {
    double mass = 0;
    make_problem(name, {.resolution = resolution}).visit([&](const Sample& sample) { mass += sample.mass; });
    return mass;
  };
  EXPECT_NEAR(mass_of("sedov", 8), 1, 1e-12);
  EXPECT_NEAR(mass_of("noh", 8), 8, 1e-12);
  EXPECT_NEAR(mass_of("evrard", 8), 1, 1e-12);
  EXPECT_NEAR(mass_of("kelvin-helmholtz", 12), 1.5, 1e-2);  // the mean density in a cube
  EXPECT_NEAR(mass_of("square", 12), 1.75, 0.05);
  EXPECT_NEAR(mass_of("blob", 12) - 3000, 0.9 * blob.mass(), 10);  // what the cloud has more than the wind
  EXPECT_NEAR(mass_of("plummer", 1), 1, 1e-12);
  EXPECT_NEAR(mass_of("sod", 12), 1.125, 1e-12);  // a tube as wide as it is long to both sides
}

TEST(Problem, the_blast_holds_its_energy) {
  double energy = 0;
  make_problem("sedov", {.resolution = 12}).visit([&](const Sample& s) { energy += s.mass * s.energy; });
  EXPECT_NEAR(energy, 1, 1e-5);
}

TEST(Problem, gases_that_touch_have_the_same_pressure) {
  for (const char* const name : {"kelvin-helmholtz", "square", "blob"}) {
    const Problem problem = make_problem(name, {.resolution = 12});
    double lowest = 1e30;
    double highest = 0;
    problem.visit([&](const Sample& s) {
      lowest = std::min(lowest, s.mass * s.energy);  // all have the same volume
      highest = std::max(highest, s.mass * s.energy);
    });
    EXPECT_NEAR(lowest, highest, 1e-9 * highest) << name;
  }
}

TEST(Problem, plummers_sphere_is_in_equilibrium) {
  double kinetic = 0;
  double within = 0;
  const double half = 3 * M_PI / 16 / std::sqrt(std::pow(0.5, -2.0 / 3) - 1);
  make_problem("plummer", {.resolution = 20}).visit([&](const Sample& s) {
    kinetic += s.mass * dot(s.velocity, s.velocity) / 2;
    within += length(s.position) < half ? s.mass : 0;
  });
  EXPECT_NEAR(kinetic, 0.25, 0.01);  // a quarter in Henon's units
  EXPECT_NEAR(within, 0.5, 0.01);
}

TEST(Problem, profiles_begin_as_the_exact_solution_does) {
  const Problem problem = make_problem("gresho", {.resolution = 24});
  Particles store;
  const GasFields fields{store};
  add_particles(problem, store, fields, 0, 1);
  const Gas gas{store, fields};
  std::fill_n(gas.density, gas.count, 1.0F);
  const std::vector<ProfileRow> rows = make_profile(problem, profile_sums(problem, gas), 0);
  ASSERT_GT(rows.size(), 50U);
  for (const ProfileRow& row : rows) {
    ASSERT_TRUE(row.exact);
    EXPECT_NEAR(row.mean.density, row.exact->density, 1e-6);
    EXPECT_NEAR(row.mean.speed, row.exact->speed, 0.01);
    EXPECT_NEAR(row.mean.pressure, row.exact->pressure, 0.02);
  }
  EXPECT_TRUE(profile_sums(make_problem("two-bodies", {}), gas).empty());
}

TEST(Problem, an_unknown_name_is_told_with_the_known_ones) {
  try {
    (void)make_problem("sodd", {});
    FAIL() << "no error";
  } catch (const plait::Error& error) {
    EXPECT_NE(std::string{error.what()}.find("sod, sedov"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace sph::problem_test
