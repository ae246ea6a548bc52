// SPDX-License-Identifier: Apache-2.0
#include "ring/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numbers>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "plait/testing/run_program.hpp"

#include "ring/plain_ring.hpp"

namespace ring::simulation_test {
namespace {

using plait::Runtime;
using test::Body;

struct Outcome {
  std::vector<Body> bodies;  ///< Of all ranks, by id.
  std::vector<std::size_t> bodies_of_rank;
  RunState state;
  Diagnostics begin;
  Diagnostics end;
};

struct Job {
  std::vector<Body> bodies;
  RunState state;
  std::uint64_t steps = 0;
  std::uint32_t ranks = 1;
  std::uint32_t workers = 1;
  std::uint32_t radial = 1;

  Parameters& parameters() { return state.parameters; }
};

/// All on loopback: each rank begins with an equal share of the bodies.
Outcome compute(const Job& job) {
  Outcome outcome;
  outcome.bodies_of_rank.resize(job.ranks);
  std::mutex mutex;
  plait::test::run_program({.ranks = job.ranks}, {.worker_count = job.workers}, [&](Runtime& runtime) {
    const std::size_t rank = runtime.self().value();
    const std::size_t first = job.bodies.size() * rank / job.ranks;
    const std::size_t last = job.bodies.size() * (rank + 1) / job.ranks;
    Bodies bodies;
    test::fill(bodies, std::span{job.bodies}.subspan(first, last - first));
    Simulation simulation{runtime, bodies, job.state, {.radial = job.radial}};
    const Diagnostics begin = simulation.diagnose();
    for (std::uint64_t step = 0; step < job.steps; ++step) {
      simulation.step();
    }
    const Diagnostics end = simulation.diagnose();
    const RunState state = simulation.whole_state();
    const std::lock_guard lock{mutex};
    test::append(bodies, outcome.bodies);
    outcome.bodies_of_rank[rank] = bodies.store.size();
    outcome.begin = begin;
    outcome.end = end;
    outcome.state = state;
  });
  std::ranges::sort(outcome.bodies, {}, &Body::id);
  return outcome;
}

std::vector<Body> ring_of(std::uint32_t azimuthal, double scatter = 0) {
  Bodies bodies;
  make_ring({.azimuthal = azimuthal, .velocity_scatter = scatter}, bodies);
  std::vector<Body> all;
  test::append(bodies, all);
  return all;
}

double largest_distance(const std::vector<Body>& a, const std::vector<Body>& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    EXPECT_EQ(a[i].id, b[i].id);
    largest = std::max(largest, length(a[i].position - b[i].position));
  }
  return largest;
}

using Ranks = std::uint32_t;
using Workers = std::uint32_t;

class OnRanks : public testing::TestWithParam<std::tuple<Ranks, Workers>> {
 protected:
  static Job job(std::vector<Body> bodies) {
    return {.bodies = std::move(bodies), .ranks = std::get<0>(GetParam()), .workers = std::get<1>(GetParam())};
  }
};

TEST_P(OnRanks, forces_of_a_ring_are_within_1e_3) {
  Job ring = job(ring_of(150));
  ring.parameters().central_mass = 0;
  const Outcome outcome = compute(ring);
  EXPECT_LT(test::rms_error(outcome.bodies, test::direct_accelerations(outcome.bodies)), 1e-3);
}

TEST_P(OnRanks, steps_are_those_of_direct_sums) {
  Job ring = job(ring_of(25, 1e-3));
  ring.parameters().theta = 0;  // differs by rounding only
  ring.parameters().time_step = 1.0 / 64;
  ring.steps = 40;
  const Outcome outcome = compute(ring);
  EXPECT_LT(largest_distance(outcome.bodies, test::integrate(ring.bodies, ring.parameters(), ring.steps)), 1e-12);
}

TEST_P(OnRanks, no_body_is_lost_while_they_go_around) {
  Job ring = job(ring_of(50, 1e-2));
  ring.parameters().time_step = 1.0 / 16;  // a tenth of the orbit: through all domains
  ring.steps = 60;
  const Outcome outcome = compute(ring);
  ASSERT_EQ(outcome.bodies.size(), ring.bodies.size());
  for (std::size_t i = 0; i < outcome.bodies.size(); ++i) {
    EXPECT_EQ(outcome.bodies[i].id, i + 1);
  }
  const double share = static_cast<double>(ring.bodies.size()) / static_cast<double>(ring.ranks);
  for (const std::size_t count : outcome.bodies_of_rank) {
    EXPECT_NEAR(static_cast<double>(count), share, 0.35 * share) << "domains follow the load";
  }
}

TEST_P(OnRanks, contacts_meet_across_domains_and_their_loss_is_accounted_for) {
  Job ring = job(ring_of(60, 5e-3));
  ring.parameters().collision_radius = 4e-3;
  ring.steps = 200;
  const Outcome outcome = compute(ring);
  EXPECT_GT(outcome.state.contacts.dissipated, 0);
  EXPECT_LT(std::abs(outcome.end.energy - outcome.begin.energy), 0.02 * outcome.state.contacts.dissipated);
}

TEST_P(OnRanks, a_run_goes_on_from_where_it_stopped) {
  Job whole = job(ring_of(50, 1e-3));
  whole.parameters().collision_radius = 2e-3;
  whole.steps = 20;
  const Outcome unbroken = compute(whole);
  Job first = whole;
  first.steps = 12;
  const Outcome half = compute(first);
  Job second = whole;
  second.bodies = half.bodies;
  second.state = half.state;
  second.steps = 8;
  const Outcome resumed = compute(second);
  // Domains are cut anew where it goes on, and the tree differs with them within its accuracy.
  EXPECT_LT(largest_distance(resumed.bodies, unbroken.bodies), 1e-10);
  EXPECT_EQ(resumed.state.step, 20U);
  EXPECT_NEAR(
      resumed.state.contacts.dissipated, unbroken.state.contacts.dissipated, 1e-6 * unbroken.state.contacts.dissipated);
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
  const Job ring{.bodies = ring_of(50), .steps = 8, .ranks = 4, .radial = 2};
  EXPECT_LT(largest_distance(compute(ring).bodies, compute({.bodies = ring.bodies, .steps = 8}).bodies), 1e-9);
}

TEST(Simulation, keeps_the_energy_of_a_ring_to_1e_8_over_an_orbit) {
  const Outcome outcome = compute({.bodies = ring_of(50), .steps = 6434});
  EXPECT_NEAR(outcome.end.energy / outcome.begin.energy, 1, 1e-8);
}

TEST(Simulation, keeps_angular_momentum_to_rounding_with_exact_forces) {
  Job ring{.bodies = ring_of(15), .steps = 1000};
  ring.parameters().theta = 0;
  const Outcome outcome = compute(ring);
  EXPECT_NEAR(outcome.end.angular_momentum / outcome.begin.angular_momentum, 1, 1e-13);
}

TEST(Simulation, closes_the_orbit_of_two_bodies) {
  // Equal masses 1/2 at distance 1: period 2 pi.
  const int steps = 4096;
  Job two{.bodies = {{{0.5, 0, 0}, {0, 0.5, 0}, {}, 0.5, 1}, {{-0.5, 0, 0}, {0, -0.5, 0}, {}, 0.5, 2}}, .steps = steps};
  two.parameters().central_mass = 0;
  two.parameters().time_step = 2 * std::numbers::pi / steps;
  const Outcome outcome = compute(two);
  EXPECT_LT(largest_distance(outcome.bodies, two.bodies), 1e-5);  // phase error: dt^2 / 24 of 2 pi
  EXPECT_NEAR(length(outcome.bodies[0].position), 0.5, 1e-6);
}

TEST(Simulation, knows_energy_and_angular_momentum_of_two_bodies_about_a_centre) {
  const Job two{.bodies = {{{2, 0, 0}, {0, 3, 0}, {}, 0.5, 1}, {{0, 4, 0}, {}, {}, 0.25, 2}}};
  const Diagnostics now = compute(two).end;
  EXPECT_NEAR(now.energy, 2.25 - 0.5 / 2 - 0.25 / 4 - 0.125 / std::sqrt(20), 1e-13);
  EXPECT_DOUBLE_EQ(now.angular_momentum, 3);
}

TEST(Simulation, goes_on_when_a_rank_has_lost_all_its_bodies) {
  // Three close bodies on one orbit and three domains: some rank is always without.
  std::vector<Body> bodies(3);
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    const double angle = 0.01 * static_cast<double>(i);
    bodies[i] = {{std::cos(angle), std::sin(angle), 0}, {-std::sin(angle), std::cos(angle), 0}, {}, 1e-9, i + 1};
  }
  Job job{.bodies = bodies, .steps = 130, .ranks = 3};
  job.parameters().time_step = 2 * M_PI / 128;
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
}  // namespace ring::simulation_test
