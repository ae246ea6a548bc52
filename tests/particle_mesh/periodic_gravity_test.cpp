// SPDX-License-Identifier: Apache-2.0
#include "plait/particle_mesh/periodic_gravity.hpp"

#include <cmath>
#include <cstdint>
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

/// Random places; a lattice, slightly disturbed; three clusters, one of them on a corner of the box.
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
    bodies.charges.push_back(0.5 + 0.5 * std::abs(uniform(random)));
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

EwaldField compute(const Job& job) {
  const Bodies bodies = bodies_of(job.kind);
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
  for (const std::string kind : {"random", "lattice", "clusters"}) {
    const EwaldField field = compute(job(kind));
    EXPECT_LT(force_error(field, exact(kind)), 1e-3) << kind;
    EXPECT_LT(potential_error(field, exact(kind)), 1e-3) << kind;
    if (testing::Test::HasFailure() || std::getenv("PLAIT_SHOW") != nullptr) {
      std::printf("%s %g %g\n", kind.c_str(), force_error(field, exact(kind)), potential_error(field, exact(kind)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(PeriodicGravity,
                         OnRanks,
                         testing::Values(std::tuple{1U, 1U}, std::tuple{1U, 2U}, std::tuple{2U, 1U}, std::tuple{3U, 2U}, std::tuple{7U, 1U}));

}  // namespace
}  // namespace plait::particles::periodic_gravity_test
