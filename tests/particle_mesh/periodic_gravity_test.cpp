// SPDX-License-Identifier: Apache-2.0
#include "plait/particle_mesh/periodic_gravity.hpp"

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/particle_mesh/ewald.hpp"
#include "plait/particles/steps/system.hpp"
#include "plait/testing/run_program.hpp"

#include "particles/samples.hpp"

namespace plait::particles::periodic_gravity_test {
namespace {

using test::Sample;

const Box box{{-1, -1, -1}, {1, 1, 1}};

struct Bodies {
  std::vector<Vector> places;
  std::vector<double> charges;
};

/// Random places; a lattice, slightly disturbed; three clusters, one of them on a corner of the box; random charges of
/// both signs, neutral.
Bodies bodies_of(const std::string& kind) {
  std::mt19937_64 random{11};
  std::uniform_real_distribution<double> uniform{-1, 1};
  std::normal_distribution<double> normal;
  Bodies bodies;
  const int count = kind == "lattice" ? 343 : 300;
  for (int i = 0; i < count; ++i) {
    Vector place{uniform(random), uniform(random), uniform(random)};
    if (kind == "lattice") {
      place = 0.02 * place + (2.0 / 7) * Vector{i % 7 - 3.0, i / 7 % 7 - 3.0, i / 49 - 3.0};
    } else if (kind == "clusters") {
      const Vector centre = i % 3 == 0 ? Vector{-1, -1, -1} : i % 3 == 1 ? Vector{0.3, 0.1, 0} : Vector{0.9, -0.5, 0.2};
      place = centre + 0.1 * Vector{normal(random), normal(random), normal(random)};
    }
    bodies.places.push_back(Space{box, {true, true, true}}.wrap(place));
    bodies.charges.push_back(kind == "salt" ? 1 - 2 * (i % 2) : 0.5 + 0.5 * std::abs(uniform(random)));
  }
  return bodies;
}

const EwaldField& exact(const std::string& kind) {
  static std::map<std::string, EwaldField> known;
  if (!known.contains(kind)) {
    const Bodies bodies = bodies_of(kind);
    known[kind] = ewald_field(box, bodies.places, bodies.charges);
  }
  return known[kind];
}

PeriodicGravityOptions options_of(const Sample& sample) {
  PeriodicGravityOptions options{.box = box, .mesh = {16, 16, 16}};
  options.tree.charge = sample.mass;
  options.tree.acceleration = sample.acceleration;
  options.tree.potential = sample.potential;
  return options;
}

struct Job {
  std::string kind = "random";
  std::uint32_t ranks = 1;
  std::uint32_t workers = 1;
  double theta = 0;
  Precision precision = Precision::full;
  int steps = 0;
};

EwaldField compute(const Job& job, const Bodies& bodies) {
  EwaldField field{std::vector<Vector>(bodies.places.size()), std::vector<double>(bodies.places.size())};
  std::mutex mutex;
  plait::test::run_program({.ranks = job.ranks}, {.worker_count = job.workers}, [&](Runtime& runtime) {
    Sample sample;
    for (std::size_t i = runtime.self().value(); i < bodies.places.size(); i += job.ranks) {
      const std::size_t place = sample.store.add(1);
      sample.store.positions()[place] = bodies.places[i];
      sample.store.ids()[place] = i;
      sample.store[sample.mass][place] = bodies.charges[i];
    }
    System system{runtime.messages(),
                  runtime.scheduler(),
                  sample.store,
                  {.space = {.root = box, .periodic = {true, true, true}}}};
    PeriodicGravityOptions options = options_of(sample);
    options.tree.theta = job.theta;
    options.tree.precision = job.precision;
    system.add(make_periodic_gravity(runtime.messages(), runtime.scheduler(), options));
    system.update();
    for (int step = 0; step < job.steps; ++step) {
      system.step();
    }
    const std::lock_guard lock{mutex};
    for (std::size_t i = 0; i < sample.store.size(); ++i) {
      const std::uint64_t id = sample.store.ids()[i];
      field.acceleration[id] = sample.store[sample.acceleration][i];
      field.potential[id] = sample.store[sample.potential][i];
    }
  });
  return field;
}

EwaldField compute(const Job& job) {
  return compute(job, bodies_of(job.kind));
}

/// The mean of errors along the force, over that of squared forces.
double mean_error(const EwaldField& field, const EwaldField& other) {
  double error = 0;
  double size = 0;
  for (std::size_t i = 0; i < field.acceleration.size(); ++i) {
    error += dot(field.acceleration[i] - other.acceleration[i], other.acceleration[i]);
    size += dot(other.acceleration[i], other.acceleration[i]);
  }
  return error / size;
}

double force_error(const EwaldField& field, const EwaldField& other) {
  double error = 0;
  double size = 0;
  for (std::size_t i = 0; i < field.acceleration.size(); ++i) {
    const Vector d = field.acceleration[i] - other.acceleration[i];
    error += dot(d, d);
    size += dot(other.acceleration[i], other.acceleration[i]);
  }
  return std::sqrt(error / size);
}

double potential_error(const EwaldField& field, const EwaldField& other) {
  double error = 0;
  double size = 0;
  for (std::size_t i = 0; i < field.potential.size(); ++i) {
    error += std::pow(field.potential[i] - other.potential[i], 2);
    size += std::pow(other.potential[i], 2);
  }
  return std::sqrt(error / size);
}

class OnRanks : public testing::TestWithParam<std::tuple<std::uint32_t, std::uint32_t>> {
 protected:
  [[nodiscard]] Job job(const std::string& kind) const {
    return {.kind = kind, .ranks = std::get<0>(GetParam()), .workers = std::get<1>(GetParam())};
  }
};

TEST_P(OnRanks, forces_and_potentials_are_those_of_all_images) {
  for (const std::string kind : {"random", "lattice", "clusters", "salt"}) {
    const EwaldField field = compute(job(kind));
    EXPECT_LT(force_error(field, exact(kind)), 1e-3) << kind;
    EXPECT_LT(potential_error(field, exact(kind)), 1e-3) << kind;
  }
}

/// With cells, and in both precisions. Errors of one sign would make energies drift.
TEST_P(OnRanks, the_default_angle_has_errors_below_1e_3_of_no_sign) {
  for (const std::string kind : {"random", "lattice", "clusters", "salt"}) {
    for (const Precision precision : {Precision::full, Precision::mixed}) {
      Job cells = job(kind);
      cells.theta = LongRangeOptions{}.theta;
      cells.precision = precision;
      const EwaldField field = compute(cells);
      EXPECT_LT(force_error(field, exact(kind)), 1e-3) << kind;
      EXPECT_LT(std::abs(mean_error(field, exact(kind))), 2e-4) << kind;
      EXPECT_LT(potential_error(field, exact(kind)), 1e-3) << kind;
    }
  }
}

TEST_P(OnRanks, steps_repeat_the_sums) {
  Job stepping = job("random");
  stepping.steps = 2;  // nothing moves
  EXPECT_LT(force_error(compute(stepping), compute(job("random"))), 1e-12);
}

INSTANTIATE_TEST_SUITE_P(PeriodicGravity,
                         OnRanks,
                         testing::Values(std::tuple{1U, 1U},
                                         std::tuple{1U, 2U},
                                         std::tuple{2U, 1U},
                                         std::tuple{3U, 2U},
                                         std::tuple{7U, 1U}));

/// Ions of a cubic crystal of charges 1 and -1, 8 along each axis or in 6^3 cells of two. Places are not those of mesh
/// points.
Bodies crystal(const std::string& kind) {
  Bodies bodies;
  const auto add = [&](const Vector& place, double charge) {
    bodies.places.push_back(Space{box, {true, true, true}}.wrap(box.low + place + Vector{0.013, 0.029, 0.041}));
    bodies.charges.push_back(charge);
  };
  const int edge = kind == "rock salt" ? 8 : 6;
  for (int i = 0; i < edge * edge * edge; ++i) {
    const Vector cell{i % edge + 0.0, i / edge % edge + 0.0, i / edge / edge + 0.0};
    if (kind == "rock salt") {
      add((2.0 / edge) * cell, (i % edge + i / edge + i / edge / edge) % 2 == 0 ? 1 : -1);
    } else {
      add((2.0 / edge) * cell, 1);
      add((2.0 / edge) * (cell + Vector{0.5, 0.5, 0.5}), -1);
    }
  }
  return bodies;
}

/// The potential of an ion, in units of its neighbours' distance. Constants: Borwein et al., "Lattice Sums Then and
/// Now", 2013.
TEST_P(OnRanks, crystals_have_the_constants_of_madelung) {
  struct Crystal {
    std::string name;
    double neighbour, constant;
  };
  for (const auto& [name, neighbour, constant] : {Crystal{"rock salt", 2.0 / 8, 1.747564594633},
                                                  Crystal{"caesium chloride", std::sqrt(3.0) / 6, 1.762674773071}}) {
    for (const double theta : {0.0, LongRangeOptions{}.theta}) {
      Job cells = job("crystal");
      cells.theta = theta;
      const Bodies ions = crystal(name);
      const EwaldField field = compute(cells, ions);
      double sum = 0;
      for (std::size_t i = 0; i < ions.charges.size(); ++i) {
        sum += ions.charges[i] * field.potential[i] * neighbour / static_cast<double>(ions.charges.size());
      }
      EXPECT_NEAR(sum / constant, 1, 1e-4) << name << ", theta " << theta;
    }
  }
}

/// A target without a charge: the field of the others at its place.
TEST(PeriodicGravity, kinds_select_sources_and_targets) {
  plait::test::run_program({.ranks = 1}, {}, [](Runtime& runtime) {
    Sample sample;
    sample.store.add(2);
    sample.store.positions()[0] = {0.2, 0, 0};
    sample.store.positions()[1] = {-0.3, 0.1, 0};
    sample.store[Particles::kind][1] = 1;
    sample.store[sample.mass][0] = sample.store[sample.mass][1] = 1;
    System system{runtime.messages(),
                  runtime.scheduler(),
                  sample.store,
                  {.space = {.root = box, .periodic = {true, true, true}}}};
    PeriodicGravityOptions options = options_of(sample);
    options.tree.sources = {0};
    options.tree.targets = {1};
    system.add(make_periodic_gravity(runtime.messages(), runtime.scheduler(), options));
    system.update();
    const std::size_t target = sample.store[Particles::kind][0] == 1 ? 0 : 1;
    const std::vector<Vector> places{{0.2, 0, 0}, {-0.3, 0.1, 0}};
    const EwaldField field = ewald_field(box, places, std::vector<double>{1, 0});
    EXPECT_LT(length(sample.store[sample.acceleration][target] - field.acceleration[1]), 1e-3);
    EXPECT_NEAR(sample.store[sample.potential][target], field.potential[1], 1e-3);
    EXPECT_EQ(sample.store[sample.acceleration][1 - target], Vector{});
  });
}

/// A softened particle alone feels its images; its own potential is left out, as without a mesh.
TEST(PeriodicGravity, a_particle_does_not_act_on_itself) {
  for (const double softening : {0.0, 0.01}) {
    plait::test::run_program({.ranks = 1}, {}, [&](Runtime& runtime) {
      Sample sample;
      sample.store.add(1);
      sample.store.positions()[0] = {0.31, -0.2, 0.77};
      sample.store[sample.mass][0] = 2;
      System system{runtime.messages(),
                    runtime.scheduler(),
                    sample.store,
                    {.space = {.root = box, .periodic = {true, true, true}}}};
      PeriodicGravityOptions options = options_of(sample);
      options.tree.softening = softening;
      system.add(make_periodic_gravity(runtime.messages(), runtime.scheduler(), options));
      system.update();
      const EwaldField field = ewald_field(box, sample.store.positions(), sample.store[sample.mass]);
      EXPECT_NEAR(sample.store[sample.potential][0], field.potential[0], 2e-3);
      EXPECT_LT(length(sample.store[sample.acceleration][0]), 1e-2);
    });
  }
}

/// The error that these settings give, from the construction or from the first sums.
std::string error_of(const std::function<void(PeriodicGravityOptions&, Space&)>& change) {
  std::string message;
  plait::test::run_program({.ranks = 1}, {}, [&](Runtime& runtime) {
    Sample sample;
    PeriodicGravityOptions options = options_of(sample);
    Space space{.root = box, .periodic = {true, true, true}};
    change(options, space);
    try {
      System system{runtime.messages(), runtime.scheduler(), sample.store, {.space = space}};
      system.add(make_periodic_gravity(runtime.messages(), runtime.scheduler(), options));
      system.update();
    } catch (const Error& error) {
      message = error.what();
    }
  });
  return message;
}

TEST(PeriodicGravity, settings_that_cannot_work_are_refused_with_a_reason) {
  const auto expect = [](const std::string& part, const std::function<void(PeriodicGravityOptions&, Space&)>& change) {
    const std::string message = error_of(change);
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect("give `box`", [](auto& options, auto&) { options.box = {}; });
  expect("too small", [](auto& options, auto&) { options.mesh = {16, 16, 5}; });
  expect("more than half of the box", [](auto& options, auto&) { options.mesh = {8, 8, 8}; });
  expect("give a positive length", [](auto& options, auto&) { options.split = -1; });
  expect("must be unset", [](auto& options, auto&) { options.tree.cutoff = 0.1; });
  expect("not periodic along all axes", [](auto&, Space& space) { space.periodic[1] = false; });
  EXPECT_EQ(error_of([](auto&, auto&) {}), "");  // no particles at all
}

}  // namespace
}  // namespace plait::particles::periodic_gravity_test
