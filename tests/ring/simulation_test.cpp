// SPDX-License-Identifier: Apache-2.0
#include "ring/parallel/simulation.hpp"

#include <algorithm>
#include <mutex>
#include <set>
#include <tuple>

#include <gtest/gtest.h>

#include "ring/direct_sum.hpp"
#include "ring/initial_condition.hpp"
#include "ring/one_rank.hpp"
#include "runtime/loopback_run.hpp"

namespace ring {
namespace {

using plait::Runtime;

struct Outcome {
  std::vector<Body> bodies;  ///< Of all ranks, by id.
  std::vector<std::size_t> bodies_of_rank;
  Diagnostics diagnostics;
};

struct Job {
  std::vector<Body> bodies;
  Parameters parameters;
  std::uint64_t steps = 0;
  std::uint32_t ranks = 1;
  std::uint32_t workers = 1;
  std::uint32_t radial = 1;
  Dissipation dissipation;
  bool has_forces = false;
};

/// All on loopback: each rank begins with an equal share of the bodies.
Outcome compute(const Job& job) {
  Outcome outcome;
  outcome.bodies_of_rank.resize(job.ranks);
  std::mutex mutex;
  plait::test::run_on_loopback(job.ranks, {.worker_count = job.workers}, [&](Runtime& runtime) {
    const std::size_t rank = runtime.self().value();
    const auto at = [&](std::size_t index) {
      return job.bodies.begin() + static_cast<std::ptrdiff_t>(job.bodies.size() * index / job.ranks);
    };
    Simulation simulation{
        runtime,
        job.parameters,
        {.grid = make_grid(job.ranks, job.radial), .task_batches = 1},
        {.bodies = {at(rank), at(rank + 1)}, .dissipation = job.dissipation, .has_forces = job.has_forces}};
    for (std::uint64_t step = 0; step < job.steps; ++step) {
      simulation.step();
    }
    const Diagnostics diagnostics = simulation.diagnose();
    const std::lock_guard lock{mutex};
    outcome.bodies.insert(outcome.bodies.end(), simulation.bodies().begin(), simulation.bodies().end());
    outcome.bodies_of_rank[rank] = simulation.bodies().size();
    outcome.diagnostics = diagnostics;
  });
  std::ranges::sort(outcome.bodies, {}, &Body::id);
  return outcome;
}

std::vector<Body> ring_of(std::uint32_t azimuthal, double scatter = 0) {
  RingShape shape;
  shape.azimuthal = azimuthal;
  shape.velocity_scatter = scatter;
  return make_ring(shape);
}

std::vector<Body> by_id(std::vector<Body> bodies) {
  std::ranges::sort(bodies, {}, &Body::id);
  return bodies;
}

double largest_distance(const std::vector<Body>& a, const std::vector<Body>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Vector d = a[i].position - b[i].position;
    largest = std::max(largest, std::sqrt(dot(d, d)));
  }
  return largest;
}

using Ranks = std::uint32_t;
using Workers = std::uint32_t;

class OnRanks : public testing::TestWithParam<std::tuple<Ranks, Workers>> {
 protected:
  Job job(std::vector<Body> bodies) const {
    return {.bodies = std::move(bodies), .ranks = std::get<0>(GetParam()), .workers = std::get<1>(GetParam())};
  }
  /// Error of the self-gravity: the centre is taken away.
  double force_error(Job job) const {
    job.parameters.central_mass = 0;
    const Outcome outcome = compute(job);
    return test::rms_error(outcome.bodies, test::direct_accelerations(outcome.bodies));
  }
};

TEST_P(OnRanks, forces_of_a_ring_are_within_5e_3_with_monopoles) {
  Job ring = job(ring_of(500));
  ring.parameters.order = Order::monopole;
  EXPECT_LT(force_error(ring), 5e-3);
}

TEST_P(OnRanks, forces_of_a_ring_are_within_1e_3_with_quadrupoles) {
  EXPECT_LT(force_error(job(ring_of(500))), 1e-3);
}

TEST_P(OnRanks, forces_of_a_sphere_are_within_5e_3_with_monopoles) {
  Job sphere = job(make_sphere(10'000, 1, 1, 1));
  sphere.parameters.order = Order::monopole;
  EXPECT_LT(force_error(sphere), 5e-3);
}

TEST_P(OnRanks, forces_of_a_sphere_are_within_1e_3_with_quadrupoles) {
  EXPECT_LT(force_error(job(make_sphere(10'000, 1, 1, 1))), 1e-3);
}

TEST_P(OnRanks, steps_are_those_of_one_rank_without_tasks) {
  Job ring = job(ring_of(25, 1e-3));
  ring.parameters.theta = 0;  // direct: differs by rounding only
  ring.parameters.time_step = 1.0 / 64;
  ring.steps = 40;
  test::OneRank reference{ring.bodies, ring.parameters};
  for (std::uint64_t step = 0; step < ring.steps; ++step) {
    reference.step();
  }
  const Outcome outcome = compute(ring);
  ASSERT_EQ(outcome.bodies.size(), ring.bodies.size());
  EXPECT_LT(largest_distance(outcome.bodies, by_id(reference.bodies())), 1e-12);
  EXPECT_NEAR(outcome.diagnostics.total() / reference.diagnostics().total(), 1, 1e-12);
}

TEST_P(OnRanks, no_body_is_lost_while_they_go_around) {
  Job ring = job(ring_of(50, 1e-2));
  ring.parameters.time_step = 1.0 / 16;  // a tenth of the orbit: through all domains
  ring.steps = 60;
  const Outcome outcome = compute(ring);
  std::set<std::uint64_t> ids;
  for (const Body& body : outcome.bodies) {
    ids.insert(body.id);
  }
  EXPECT_EQ(ids.size(), ring.bodies.size());
  EXPECT_EQ(outcome.bodies.size(), ring.bodies.size());
  const double share = static_cast<double>(ring.bodies.size()) / static_cast<double>(ring.ranks);
  for (const std::size_t count : outcome.bodies_of_rank) {
    EXPECT_NEAR(static_cast<double>(count), share, 0.35 * share) << "domains follow the load";
  }
}

TEST_P(OnRanks, contacts_meet_across_domains_and_their_loss_is_accounted_for) {
  Job ring = job(ring_of(60, 5e-3));
  ring.parameters.collision_radius = 4e-3;
  ring.steps = 200;
  const Outcome begin = compute({.bodies = ring.bodies, .parameters = ring.parameters});
  const Outcome end = compute(ring);
  EXPECT_GT(end.diagnostics.dissipated, 0);
  const double change = end.diagnostics.total() - begin.diagnostics.total();
  EXPECT_LT(std::abs(change), 0.02 * end.diagnostics.dissipated);
}

TEST_P(OnRanks, a_run_goes_on_from_where_it_stopped) {
  Job whole = job(ring_of(50, 1e-3));
  whole.parameters.collision_radius = 2e-3;
  whole.steps = 20;
  const Outcome unbroken = compute(whole);
  Job first = whole;
  first.steps = 12;
  const Outcome half = compute(first);
  Job second = whole;
  second.bodies = half.bodies;
  second.has_forces = true;
  second.steps = 8;
  // Domains are cut anew where it goes on, and the tree differs with them within its accuracy.
  EXPECT_LT(largest_distance(compute(second).bodies, unbroken.bodies), 1e-10);
}

INSTANTIATE_TEST_SUITE_P(RanksAndWorkers,
                         OnRanks,
                         testing::Values(std::tuple{1U, 1U},
                                         std::tuple{2U, 1U},
                                         std::tuple{3U, 2U},
                                         std::tuple{4U, 1U},
                                         std::tuple{7U, 1U},
                                         std::tuple{1U, 3U}));

TEST(Simulation, divides_the_ring_in_radius_too) {
  Job ring{.bodies = ring_of(50), .steps = 8, .ranks = 4, .radial = 2};
  const Outcome outcome = compute(ring);
  EXPECT_EQ(outcome.bodies.size(), ring.bodies.size());
  EXPECT_LT(largest_distance(outcome.bodies, compute({.bodies = ring.bodies, .steps = 8}).bodies), 1e-9);
}

TEST(Simulation, goes_on_when_a_rank_has_lost_all_its_bodies) {
  // Two close bodies on one orbit and three domains: some rank is always without.
  std::vector<Body> bodies(3);
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    const double angle = 0.01 * static_cast<double>(i);
    bodies[i].position = {std::cos(angle), std::sin(angle), 0};
    bodies[i].velocity = {-std::sin(angle), std::cos(angle), 0};
    bodies[i].mass = 1e-9;
    bodies[i].id = i + 1;
  }
  Job job{.bodies = bodies, .steps = 130, .ranks = 3};
  job.parameters.time_step = 2 * M_PI / 128;
  EXPECT_EQ(compute(job).bodies.size(), 3U);
}

TEST(Simulation, refuses_two_bodies_at_one_place_and_names_them) {
  Job twins{.bodies = ring_of(10), .ranks = 2};
  twins.bodies[150].position = twins.bodies[20].position;
  try {
    compute(twins);
    FAIL() << "which of them a force would act on is not defined";
  } catch (const plait::Error& error) {
    EXPECT_NE(std::string{error.what()}.find("21"), std::string::npos) << error.what();
    EXPECT_NE(std::string{error.what()}.find("151"), std::string::npos) << error.what();
  }
}

TEST(Simulation, refuses_fewer_bodies_than_ranks_and_fewer_than_two) {
  Job few{.bodies = ring_of(1), .ranks = 7};
  few.bodies.resize(5);
  EXPECT_THROW(compute(few), plait::Error);
  few.bodies.resize(1);
  few.ranks = 1;
  EXPECT_THROW(compute(few), plait::Error);
  few.bodies.clear();
  EXPECT_THROW(compute(few), plait::Error);
}

}  // namespace
}  // namespace ring
