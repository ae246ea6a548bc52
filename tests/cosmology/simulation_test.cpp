// SPDX-License-Identifier: Apache-2.0
#include "cosmology/simulation.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <mutex>
#include <numbers>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/testing/run_program.hpp"

#include "cosmology/initial_condition.hpp"
#include "support/agree.hpp"

namespace cosmology::simulation_test {
namespace {

struct Outcome {
  std::vector<Vector> places;  ///< By id.
  plait::particles::PowerSpectrum begin;
  plait::particles::PowerSpectrum end;
  Energies energies_begin;
  Energies energies_end;
  double updates_a_step = 0;
};

struct Job {
  InitialShape shape;
  double until = 1;
  int steps = 20;
  double softening = 0;
  std::uint32_t ranks = 2;
  double theta = 0;
  StepKind kind = StepKind::equal;
  double accuracy = 0.025;
};

Outcome compute(const Job& job) {
  Outcome outcome;
  const std::size_t count = std::size_t{job.shape.particles} * job.shape.particles * job.shape.particles;
  outcome.places.resize(count);
  std::mutex mutex;
  // With a sanitizer on a busy machine a run takes minutes.
  const plait::test::World world{.ranks = job.ranks, .time_max = std::chrono::minutes{5}};
  plait::test::run_program(world, [&](plait::Runtime& runtime) {
    Bodies bodies{job.kind};
    make_initial_condition(runtime, job.shape, bodies);
    const double begin = 1 / (1 + job.shape.redshift);
    RunState state{.scale_factor = begin, .universe = job.shape.universe};
    state.steps = {begin, 0, std::log(job.until / begin) / job.steps};
    state.parameters.box = job.shape.box;
    state.parameters.theta = job.theta;
    state.parameters.softening = job.softening;
    state.parameters.accuracy = job.accuracy;
    Simulation simulation{runtime, bodies, state};
    const auto spectrum = simulation.power_spectrum();
    const Energies energies = simulation.energies();
    for (int step = 1; step <= job.steps; ++step) {
      simulation.step(state.steps.begin_of(static_cast<std::uint64_t>(step)));
    }
    const auto last_spectrum = simulation.power_spectrum();
    const Energies last_energies = simulation.energies();
    const std::lock_guard lock{mutex};
    for (std::size_t i = 0; i < bodies.store.size(); ++i) {
      outcome.places[bodies.store.ids()[i] - 1] = bodies.store.positions()[i];
    }
    outcome.begin = spectrum;
    outcome.energies_begin = energies;
    outcome.end = last_spectrum;
    outcome.updates_a_step = simulation.updates_a_step();
    outcome.energies_end = last_energies;
  });
  return outcome;
}

/// The largest error of places in a plane wave at the end, of the amplitude.
double wave_error(double matter, StepKind kind) {
  constexpr std::uint32_t count = 24;
  const double until = 0.4;
  const InitialShape shape{.particles = count,
                           .box = 48,
                           .redshift = 19,
                           .universe = {.matter = matter, .baryons = 0},
                           .wave_crossing = 0.8};
  const Outcome outcome = compute({.shape = shape, .until = until, .steps = 24, .kind = kind});
  const Expansion expansion = shape.universe.expansion();
  const double wave = 2 * std::numbers::pi / shape.box;
  const double amplitude = expansion.growth(until) / expansion.growth(shape.wave_crossing) / wave;
  double worst = 0;
  for (std::size_t i = 0; i < outcome.places.size(); ++i) {
    const double lattice = (static_cast<double>(i / (count * count)) + 0.5) * 2;
    const double exact = lattice - amplitude * std::sin(wave * lattice);
    const double error = outcome.places[i].x - exact;
    worst = std::max(worst, std::abs(error - shape.box * std::round(error / shape.box)));
  }
  return worst / amplitude;
}

TEST(Simulation, OfAPlaneWaveIsTheExactOne) {
  for (const double matter : {1.0, 0.3}) {
    EXPECT_LT(wave_error(matter, StepKind::equal), 0.01) << "matter " << matter;
  }
}

TEST(Simulation, OfAPlaneWaveIsTheExactOneWithIndividualSteps) {
  EXPECT_LT(wave_error(0.3, StepKind::individual), 0.01);
}

TEST(Simulation, GrowsLongWavesAsLinearTheory) {
  const InitialShape shape{.particles = 16, .box = 400, .redshift = 49, .is_fixed = true};
  const double until = 0.1;
  const Expansion expansion = shape.universe.expansion();
  const double growth = expansion.growth(until) / expansion.growth(0.02);
  for (const StepKind kind : {StepKind::equal, StepKind::individual}) {
    const Outcome outcome = compute({.shape = shape, .until = until, .steps = 30, .kind = kind});
    EXPECT_NEAR(outcome.end.power[0] / outcome.begin.power[0], growth * growth, 0.02 * growth * growth);
  }
}

/// The power at a = 0.5 of a begin by Zel'dovich over that of one in second order, less 1, in the mean of some waves.
double transient_of(double redshift, int steps) {
  const auto power = [&](Order order) {
    const InitialShape shape{.particles = 20, .box = 80, .redshift = redshift, .order = order, .is_fixed = true};
    return compute({.shape = shape, .until = 0.5, .steps = steps, .softening = 0.2, .theta = 0.4}).end.power;
  };
  const std::vector<double> zeldovich = power(Order::zeldovich);
  const std::vector<double> second = power(Order::second);
  double sum = 0;
  for (std::size_t shell = 1; shell < 5; ++shell) {
    sum += zeldovich[shell] / second[shell] - 1;
  }
  return sum / 4;
}

/// Both have the same errors of lattice and steps.
TEST(Simulation, LosesPowerByALateBeginInFirstOrderOnly) {
  const double late = transient_of(9, 32);
  const double early = transient_of(39, 60);
  RecordProperty("late", std::to_string(late));
  RecordProperty("early", std::to_string(early));
  EXPECT_LT(late, -0.03);
  EXPECT_GT(late, -0.10);
  EXPECT_LT(early, 0);
  EXPECT_GT(early, 0.5 * late) << "transients decay as 1 / a";
}

TEST(Simulation, KeepsTheCosmicEnergy) {
  const InitialShape shape{.particles = 12, .box = 40, .redshift = 49};
  const Outcome outcome = compute({.shape = shape, .until = 1, .steps = 120, .softening = 0.6});
  EXPECT_GT(outcome.energies_end.kinetic, 3 * outcome.energies_begin.kinetic) << "structure has formed";
  EXPECT_NEAR(outcome.energies_end.sum, outcome.energies_begin.sum, 0.005 * outcome.energies_end.kinetic);
}

/// As many long steps as short ones conserve too little where structure has formed; each body's own do better.
TEST(Simulation, KeepsTheCosmicEnergyWithFewUpdatesInIndividualSteps) {
  const InitialShape shape{.particles = 12, .box = 20, .redshift = 49};
  const auto error_of = [](const Outcome& outcome) {
    return std::abs(outcome.energies_end.sum - outcome.energies_begin.sum) / outcome.energies_end.kinetic;
  };
  const Job job{.shape = shape, .until = 1, .steps = 60, .softening = 0.05};
  const Outcome equal = compute(job);
  Job with_own = job;
  with_own.kind = StepKind::individual;
  const Outcome own = compute(with_own);
  RecordProperty("error of equal steps", std::to_string(error_of(equal)));
  RecordProperty("error of individual steps", std::to_string(error_of(own)));
  RecordProperty("updates a step", std::to_string(own.updates_a_step));
  EXPECT_EQ(equal.updates_a_step, 1);
  EXPECT_GT(own.updates_a_step, 1.5) << "bodies in dense places have shorter steps";
  EXPECT_LT(error_of(own), 0.3 * error_of(equal));
}

/// The largest distance along x between the places of 1 and of more ranks, of the edge of the box.
double difference_by_ranks(Job job, std::uint32_t ranks) {
  job.ranks = 1;
  const Outcome one = compute(job);
  job.ranks = ranks;
  const Outcome more = compute(job);
  EXPECT_NEAR(more.updates_a_step, one.updates_a_step, 1e-3 * one.updates_a_step);
  double most = 0;
  for (std::size_t i = 0; i < one.places.size(); ++i) {
    most = std::max(most, std::abs(std::remainder(one.places[i].x - more.places[i].x, job.shape.box)));
  }
  return most / job.shape.box;
}

/// Within the rounding of forces in single precision.
TEST(Simulation, DoesNotDependOnRanks) {
  const InitialShape shape{.particles = 12, .box = 50};
  const auto expect = [](const char* name, const Job& job) {
    for (const std::uint32_t ranks : {2U, 3U}) {
      const double difference = difference_by_ranks(job, ranks);
      ::testing::Test::RecordProperty(name + std::to_string(ranks), std::to_string(1e6 * difference));
      EXPECT_LT(difference, 2e-6) << name << ranks;
    }
  };
  expect("equal steps, ranks: ", {.shape = shape, .until = 0.1, .steps = 8});
  expect("individual steps, ranks: ",
         {.shape = shape, .until = 0.1, .steps = 8, .kind = StepKind::individual, .accuracy = 0.002});
}

TEST(Simulation, RefusesFewerBodiesThanRanks) {
  EXPECT_THROW(plait::test::run_program({.ranks = 2},
                                        [](plait::Runtime& runtime) {
                                          Bodies none;
                                          const Simulation simulation{runtime, none, {}};
                                        }),
               app::AgreedError);
}

}  // namespace
}  // namespace cosmology::simulation_test
