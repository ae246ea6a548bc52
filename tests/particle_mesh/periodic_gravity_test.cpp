// SPDX-License-Identifier: Apache-2.0
#include "plait/particle_mesh/periodic_gravity.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/particle_mesh/ewald.hpp"
#include "plait/particle_mesh/expansion.hpp"
#include "plait/particles/steps/integrator.hpp"
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

// ---- the mesh in steps of its own, the short range at each particle's ----

struct Motion {
  std::vector<Vector> places;  ///< By id.
  EwaldField first;            ///< The forces at the begin.
  double share = 1;            ///< Of the updates that equal steps of the shortest length would make.
};

struct Trip {
  StepLengths lengths = StepLengths::individual;
  double step = 1.0 / 32;  ///< The longest: of the mesh.
  double theta = 0;
  std::uint32_t ranks = 1;
};

constexpr double begin_a = 0.8;
constexpr double softening = 0.05;

/// In comoving coordinates: the time of steps is ln(a / begin_a), from 0 to 1/4.
Integrator comoving(const Sample& sample, const Expansion& expansion) {
  Integrator motion = leapfrog({.velocity = sample.velocity, .acceleration = sample.acceleration});
  const auto a = [](double time) { return begin_a * std::exp(time); };
  motion.drift_duration = [expansion, a](double from, double to) { return expansion.drift(a(from), a(to)); };
  motion.kick_duration = [expansion, a](double from, double to) { return expansion.kick(a(from), a(to)); };
  return motion;
}

Motion travel(const Bodies& bodies, const Trip& trip) {
  Motion result;
  result.places.resize(bodies.places.size());
  result.first = {result.places, std::vector<double>(bodies.places.size())};
  std::mutex mutex;
  plait::test::run_program({.ranks = trip.ranks}, [&](Runtime& runtime) {
    Sample sample;
    const auto mesh_acceleration = sample.store.add_field<Vector>("mesh acceleration");
    const auto mesh_potential = sample.store.add_field<double>("mesh potential");
    for (std::size_t i = runtime.self().value(); i < bodies.places.size(); i += trip.ranks) {
      const std::size_t place = sample.store.add(1);
      sample.store.positions()[place] = bodies.places[i];
      sample.store.ids()[place] = i;
      sample.store[sample.mass][place] = bodies.charges[i];
    }
    const Space space{.root = box, .periodic = {true, true, true}};
    System system{runtime.messages(), runtime.scheduler(), sample.store, {.space = space}};
    PeriodicGravityOptions options = options_of(sample);
    options.tree.theta = trip.theta;
    options.tree.softening = softening;
    options.tree.coupling = 1 / static_cast<double>(bodies.places.size());
    system.integrate(comoving(sample, Expansion{1, 0.3}));
    const double end = 0.25;
    if (trip.lengths == StepLengths::fixed) {
      system.take_steps({.step = trip.step});
      system.add(make_periodic_gravity(runtime.messages(), runtime.scheduler(), options));
    } else {
      system.take_steps({.lengths = trip.lengths, .end = end, .step_max = trip.step});
      system.limit_steps_by([&sample](const Particles& store, auto places, auto longest) {
        for (std::size_t k = 0; k < places.size(); ++k) {
          const double pull = length(store[sample.acceleration][places[k]]);
          longest[k] = std::min(longest[k], std::sqrt(0.02 * softening / pull));
        }
      });
      options.tree.velocity = sample.velocity;
      system.add_long_range(periodic_short_range(options));
      options.tree.acceleration = mesh_acceleration;
      options.tree.potential = mesh_potential;
      const auto kick = [&sample, mesh_acceleration](Particles& store, std::span<const Kick> kicks) {
        for (const Kick& one : kicks) {
          store[sample.velocity][one.place] += one.duration * store[mesh_acceleration][one.place];
        }
      };
      system.add_slow_force({.sum = make_periodic_mesh(runtime.messages(), runtime.scheduler(), options),
                             .results = {mesh_acceleration, mesh_potential},
                             .forces = {mesh_acceleration},
                             .kick = kick});
    }
    system.update();
    const auto note = [&](auto use) {
      const std::lock_guard lock{mutex};
      for (std::size_t i = 0; i < sample.store.size(); ++i) {
        use(i, sample.store.ids()[i]);
      }
    };
    note([&](std::size_t i, std::uint64_t id) {
      result.first.acceleration[id] = sample.store[sample.acceleration][i] + sample.store[mesh_acceleration][i];
    });
    double updates = 0;
    double shortest = end;
    while (system.time() < end * (1 - 1e-9)) {
      const StepResult step = system.step();
      updates += static_cast<double>(step.updated);
      shortest = std::min(shortest, step.step);
    }
    note([&](std::size_t i, std::uint64_t id) {
      result.places[id] = space.wrap(sample.store.positions()[i]);
      result.share = updates / (end / shortest * static_cast<double>(bodies.places.size()));
    });
  });
  return result;
}

/// The root mean square of the distance between places in two results.
double distance(const std::vector<Vector>& some, const std::vector<Vector>& others) {
  double sum = 0;
  for (std::size_t i = 0; i < some.size(); ++i) {
    const Vector d = some[i] - others[i];
    const Vector folded{std::remainder(d.x, 2), std::remainder(d.y, 2), std::remainder(d.z, 2)};
    sum += dot(folded, folded);
  }
  return std::sqrt(sum / static_cast<double>(some.size()));
}

TEST(PeriodicGravity, of_a_mesh_beside_active_particles_is_the_sum_of_all) {
  const Bodies bodies = bodies_of("clusters");
  const Motion equal = travel(bodies, {.lengths = StepLengths::fixed, .step = 0.25});
  for (const std::uint32_t ranks : {1U, 2U, 3U}) {
    const Motion parts = travel(bodies, {.ranks = ranks});
    EXPECT_LT(force_error(parts.first, equal.first), 1e-6) << ranks << " ranks, direct sums within the cut-off";
    const Motion cells = travel(bodies, {.theta = 0.4, .ranks = ranks});
    EXPECT_LT(force_error(cells.first, equal.first), 1e-3) << ranks << " ranks, with cells";
  }
}

TEST(PeriodicGravity, with_comoving_individual_steps_moves_particles_as_short_equal_ones) {
  const Bodies bodies = bodies_of("clusters");
  const Motion exact = travel(bodies, {.lengths = StepLengths::fixed, .step = 1.0 / 2048});
  const double moved = distance(exact.places, bodies.places);
  ASSERT_GT(moved, 0.02);
  const Motion coarse = travel(bodies, {.lengths = StepLengths::fixed});
  const double coarse_error = distance(coarse.places, exact.places);
  for (const std::uint32_t ranks : {1U, 2U}) {
    const Motion own = travel(bodies, {.ranks = ranks});
    const double error = distance(own.places, exact.places);
    RecordProperty("error", std::to_string(error / moved));
    RecordProperty("error of equal steps", std::to_string(coarse_error / moved));
    RecordProperty("share of updates", std::to_string(own.share));
    EXPECT_LT(error, 0.01 * moved) << ranks << " ranks";
    EXPECT_LT(error, 0.3 * coarse_error) << "equal steps as long as those of the mesh";
    EXPECT_LT(own.share, 0.8) << "steps differ";
  }
}

TEST(PeriodicGravity, a_slow_force_is_refused_with_equal_steps_of_trees_and_beside_another) {
  plait::test::run_program({.ranks = 1}, [](Runtime& runtime) {
    Sample sample;
    const Space space{.root = box, .periodic = {true, true, true}};
    System system{runtime.messages(), runtime.scheduler(), sample.store, {.space = space}};
    const auto add = [&] {
      system.add_slow_force({.sum = make_periodic_mesh(runtime.messages(), runtime.scheduler(), options_of(sample)),
                             .results = {sample.acceleration, sample.potential},
                             .forces = {sample.acceleration},
                             .kick = [](Particles&, auto) {}});
    };
    add();
    EXPECT_THROW(add(), Error);
    system.integrate(leapfrog({.velocity = sample.velocity, .acceleration = sample.acceleration}));
    EXPECT_THROW(system.update(), Error) << "fixed steps";
  });
}

}  // namespace
}  // namespace plait::particles::periodic_gravity_test
