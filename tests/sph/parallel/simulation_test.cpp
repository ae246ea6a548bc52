// SPDX-License-Identifier: Apache-2.0
#include "sph/parallel/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/testing/local_rank.hpp"

#include "data/leaks_allowed.hpp"

namespace sph::simulation_test {
namespace {

using plait::test::LocalRank;
using plait::test::run_on_ranks;

constexpr double mean_distance = 0.1;

/// A gas at rest on a lattice in a periodic box, hot in the middle: a blast.
void add_blast(Particles& store, const GasFields& fields, std::uint32_t rank, std::uint32_t ranks) {
  constexpr int edge = 10;
  for (int place = 0; place < edge * edge * edge; ++place) {
    const Vector at{(place % edge + 0.5) * mean_distance,
                    (place / edge % edge + 0.5) * mean_distance,
                    (place / edge / edge + 0.5) * mean_distance};
    if (static_cast<std::uint32_t>(at.x * ranks) != rank) {
      continue;
    }
    const std::size_t i = store.add(1);
    std::mt19937_64 random{static_cast<std::uint64_t>(place)};
    std::uniform_real_distribution<double> shake{-0.02, 0.02};
    store.positions()[i] = at + Vector{shake(random) * 0.1, shake(random) * 0.1, shake(random) * 0.1};
    store.ids()[i] = static_cast<std::uint64_t>(place);
    store[fields.mass][i] = 1e-3;
    store[fields.smoothing][i] = 0.09F;
    const Vector from{at.x - 0.45, at.y - 0.45, at.z - 0.45};
    store[fields.energy][i] = dot(from, from) < 0.01 ? 40.0F : 0.01F;
  }
}

struct State {
  Vector position;
  Vector velocity;
  double energy = 0;
  double density = 0;
};
struct Outcome {
  std::map<std::uint64_t, State> particles;
  std::uint64_t updates = 0;
  std::uint64_t steps = 0;
  std::uint64_t cells_made = 0;
};

constexpr double time_end = 0.02;

Outcome run(std::uint32_t ranks, std::uint32_t workers, Steps steps, double end = time_end) {
  Outcome outcome;
  std::mutex mutex;
  run_on_ranks({.ranks = ranks}, {.worker_count = workers}, [&](LocalRank& rank) {
    Particles store;
    const GasFields fields{store};
    add_blast(store, fields, rank.self().value(), ranks);
    SimulationOptions options;
    options.space = {.root = {{0, 0, 0}, {1, 1, 1}}, .periodic = {true, true, true}};
    options.steps = steps;
    options.end = end;
    options.scheme.courant = 0.05F;
    options.cells = {.leaf_particles_max = 8, .group_particles_max = 32, .cell_particles_max = 64};
    Simulation simulation{rank.messages(), rank.scheduler(), store, fields, options};
    Outcome mine;
    while (!simulation.is_over()) {
      const StepReport report = simulation.step();
      mine.updates += report.updated;
      ++mine.steps;
      mine.cells_made += report.made_cells ? 1 : 0;
    }
    simulation.synchronise();
    const std::scoped_lock lock{mutex};
    for (std::size_t i = 0; i < store.size(); ++i) {
      outcome.particles[store.ids()[i]] = {options.space.wrap(store.positions()[i]),
                                           store[fields.velocity_now][i],
                                           store[fields.energy_now][i],
                                           store[fields.density][i]};
    }
    outcome.updates = mine.updates;
    outcome.steps = mine.steps;
    outcome.cells_made = mine.cells_made;
  });
  return outcome;
}

double total_energy(const Outcome& outcome) {
  double sum = 0;
  for (const auto& [id, state] : outcome.particles) {
    sum += 1e-3 * (state.energy + dot(state.velocity, state.velocity) / 2);
  }
  return sum;
}

/// The largest difference of positions, in mean distances.
double difference(const Outcome& a, const Outcome& b) {
  EXPECT_EQ(a.particles.size(), b.particles.size());
  double largest = 0;
  for (const auto& [id, state] : a.particles) {
    Vector d = state.position - b.particles.at(id).position;
    d = {d.x - std::round(d.x), d.y - std::round(d.y), d.z - std::round(d.z)};
    largest = std::max(largest, length(d) / mean_distance);
  }
  return largest;
}

TEST(Simulation, keeps_energy_and_momentum_of_a_blast) {
  const Outcome equal = run(1, 1, Steps::equal);
  ASSERT_EQ(equal.particles.size(), 1000U);
  double before = 0;
  Particles store;
  const GasFields fields{store};
  add_blast(store, fields, 0, 1);
  for (const float energy : store[fields.energy]) {
    before += 1e-3 * static_cast<double>(energy);
  }
  EXPECT_NEAR(total_energy(equal), before, 0.01 * before);
  const Outcome individual = run(1, 1, Steps::individual);
  EXPECT_NEAR(total_energy(individual), before, 0.015 * before);
  EXPECT_LT(difference(equal, individual), 0.02) << "steps of their own: the same within the method's error";
  EXPECT_LT(individual.updates, equal.updates) << "less work";
  Vector momentum;
  for (const auto& [id, state] : equal.particles) {
    momentum += 1e-3 * state.velocity;
  }
  EXPECT_LT(length(momentum), 1e-5);
}

TEST(Simulation, is_the_same_on_any_number_of_ranks_and_workers) {
  const Outcome one = run(1, 1, Steps::individual, 0.01);
  EXPECT_GT(one.steps, 3U);
  for (const std::uint32_t ranks : {2U, 3U, 4U, 7U}) {
    const Outcome several = run(ranks, 1, Steps::individual, 0.01);
    EXPECT_EQ(several.updates, one.updates) << ranks;
    EXPECT_LT(difference(one, several), 1e-4) << ranks;
  }
  const Outcome workers = run(1, 2, Steps::individual, 0.01);
  EXPECT_EQ(difference(one, workers), 0) << "nothing depends on threads";
}

/// A cold ball of gas and stars, denser in the middle, which falls together.
void add_cold_ball(Particles& store, const GasFields& fields, std::uint32_t rank, std::uint32_t ranks) {
  std::mt19937_64 random{5};
  std::uniform_real_distribution<double> coordinate{-1, 1};
  constexpr std::uint64_t count = 1500;
  for (std::uint64_t id = 0; id < count; ++id) {
    Vector at;
    do {
      at = {coordinate(random), coordinate(random), coordinate(random)};
    } while (dot(at, at) > 1 || dot(at, at) == 0);
    at = std::sqrt(length(at)) * at;
    if (id % ranks != rank) {
      continue;
    }
    const std::size_t i = store.add(1);
    store.positions()[i] = at;
    store.ids()[i] = id;
    store[Particles::kind][i] = id % 3 == 0 ? dark_kind : gas_kind;
    store[fields.mass][i] = 1.0 / count;
    store[fields.smoothing][i] = 0.2F;
    store[fields.energy][i] = 0.05F;
  }
}

struct Ball {
  std::map<std::uint64_t, Vector> positions;
  double first_energy = 0;
  double last_energy = 0;
  double updated_share = 0;  ///< Of all particles, in the mean step.
};

double energy_of(const Particles& store, const GasFields& fields) {
  double sum = 0;
  for (std::size_t i = 0; i < store.size(); ++i) {
    const Vector& v = store[fields.velocity_now][i];
    const bool is_gas = store[Particles::kind][i] == gas_kind;
    sum += store[fields.mass][i] * (dot(v, v) / 2 + store[fields.potential][i] / 2 +
                                    (is_gas ? static_cast<double>(store[fields.energy_now][i]) : 0));
  }
  return sum;
}

Ball collapse(std::uint32_t ranks, Steps steps) {
  Ball ball;
  std::mutex mutex;
  run_on_ranks({.ranks = ranks}, {.worker_count = 1}, [&](LocalRank& rank) {
    Particles store;
    const GasFields fields{store};
    add_cold_ball(store, fields, rank.self().value(), ranks);
    SimulationOptions options;
    options.steps = steps;
    options.end = 0.8;
    options.scheme.gravity = {.constant = 1, .softening = 0.02, .step_max = 0.05};
    options.cells = {.leaf_particles_max = 8, .group_particles_max = 32, .cell_particles_max = 64};
    options.step_max = 0.05;
    Simulation simulation{rank.messages(), rank.scheduler(), store, fields, options};
    simulation.synchronise();
    const double first = energy_of(store, fields);
    double updated = 0;
    double count = 0;
    while (!simulation.is_over()) {
      updated += static_cast<double>(simulation.step().updated);
      ++count;
    }
    simulation.synchronise();
    const std::scoped_lock lock{mutex};
    ball.first_energy += first;
    ball.last_energy += energy_of(store, fields);
    ball.updated_share = updated / count / 1500;
    for (std::size_t i = 0; i < store.size(); ++i) {
      ball.positions[store.ids()[i]] = store.positions()[i];
    }
  });
  return ball;
}

TEST(Simulation, keeps_energy_in_a_collapse_whose_active_particles_alone_are_pulled) {
  const Ball equal = collapse(1, Steps::equal);
  EXPECT_EQ(equal.updated_share, 1);
  const double scale = std::abs(equal.first_energy);
  for (const std::uint32_t ranks : {1U, 2U, 3U}) {
    const Ball own = collapse(ranks, Steps::individual);
    ASSERT_EQ(own.positions.size(), 1500U);
    EXPECT_LT(own.updated_share, 0.9) << ranks;
    EXPECT_NEAR(own.first_energy, equal.first_energy, 1e-4 * scale) << ranks;
    EXPECT_NEAR(own.last_energy, own.first_energy, 3e-3 * scale) << ranks;
    double sum = 0;
    for (const auto& [id, position] : own.positions) {
      const Vector d = position - equal.positions.at(id);
      sum += dot(d, d);
    }
    EXPECT_LT(std::sqrt(sum / 1500), 2e-3) << ranks << " ranks: the same within the error of the method";
  }
}

/// What the limiter has done so far, and whether any active particle has a neighbour with too long steps.
class LimitCheck {
 public:
  explicit LimitCheck(const Particles& store) : store_{store} {
    // The simulation's fields follow those of the gas.
    Particles like;
    const GasFields gas{like};
    const plait::particles::StepFields steps{like};
    smoothing_ = gas.smoothing, bin_ = steps.bin, begin_ = steps.begin;
  }

  void look() {
    const auto bins = store_[bin_];
    const auto begins = store_[begin_];
    const plait::Ticks now = *std::ranges::max_element(begins);
    for (std::size_t i = 0; i < store_.size(); ++i) {
      const std::uint64_t id = store_.ids()[i];
      const auto before = bins_before_.find(id);
      woken += begins[i] < now && before != bins_before_.end() && bins[i] < before->second ? 1 : 0;
      bins_before_[id] = bins[i];
      for (std::size_t j = 0; j < store_.size(); ++j) {
        if (begins[i] == now && bins[j] > bins[i] + plait::task::neighbour_bins_apart_max && are_near(i, j)) {
          ++too_long;
        }
      }
    }
  }

  std::uint64_t woken = 0;  ///< Particles whose step has become shorter before it was over.
  std::uint64_t too_long = 0;

 private:
  [[nodiscard]] bool are_near(std::size_t i, std::size_t j) const {
    Vector d = store_.positions()[i] - store_.positions()[j];
    d = {d.x - std::round(d.x), d.y - std::round(d.y), d.z - std::round(d.z)};
    const double rounding = 0.999;
    return length(d) <
           rounding * support_ratio(Scheme{}.kernel) * std::max(store_[smoothing_][i], store_[smoothing_][j]);
  }

  const Particles& store_;
  Field<float> smoothing_{};
  Field<std::uint8_t> bin_{};
  Field<plait::Ticks> begin_{};
  std::map<std::uint64_t, std::uint8_t> bins_before_;
};

TEST(Simulation, wakes_who_is_near_to_much_shorter_steps) {
  run_on_ranks({.ranks = 1}, {.worker_count = 1}, [&](LocalRank& rank) {
    Particles store;
    const GasFields fields{store};
    add_blast(store, fields, 0, 1);
    SimulationOptions options;
    options.space = {.root = {{0, 0, 0}, {1, 1, 1}}, .periodic = {true, true, true}};
    options.end = time_end;
    options.cells = {.leaf_particles_max = 8, .group_particles_max = 32, .cell_particles_max = 64};
    Simulation simulation{rank.messages(), rank.scheduler(), store, fields, options};
    LimitCheck check{store};
    check.look();
    while (!simulation.is_over()) {
      (void)simulation.step();
      check.look();
    }
    EXPECT_EQ(check.too_long, 0U) << "steps of neighbours are at most a factor of four apart";
    EXPECT_GT(check.woken, 0U) << "the blast comes to particles in the midst of their long steps";
  });
}

TEST(Simulation, names_a_particle_without_a_smoothing_length) {
  const auto trouble_with = [](const std::function<void(Particles&, const GasFields&)>& spoil) {
    const auto errors = plait::test::errors_on_ranks({.ranks = 2}, {}, [&](LocalRank& rank) {
      const plait::data::test::LeaksAllowed leaks;
      Particles store;
      const GasFields fields{store};
      add_blast(store, fields, rank.self().value(), 2);
      if (rank.self() == plait::Rank{1}) {
        spoil(store, fields);
      }
      SimulationOptions options;
      options.space = {.root = {{0, 0, 0}, {1, 1, 1}}, .periodic = {true, true, true}};
      Simulation simulation{rank.messages(), rank.scheduler(), store, fields, options};
      (void)simulation.step();
    });
    // The other rank ends, too; which of both it hears of first is a matter of chance.
    EXPECT_TRUE(errors[0].find("particle ") != std::string::npos ||
                errors[0].find("another rank failed") != std::string::npos)
        << errors[0];
    return errors[1];
  };
  std::uint64_t id = 0;
  EXPECT_NE(trouble_with([&](Particles& store, const GasFields& fields) {
              store[fields.smoothing][17] = 0;
              id = store.ids()[17];
            }).find("particle " + std::to_string(id) + " "),
            std::string::npos);
  const std::string nowhere = trouble_with([&](Particles& store, const GasFields&) {
    store.positions()[3].x = std::numeric_limits<double>::quiet_NaN();
    id = store.ids()[3];
  });
  EXPECT_NE(nowhere.find("particle " + std::to_string(id) + " "), std::string::npos) << nowhere;
  const std::string step = trouble_with([&](Particles& store, const GasFields& fields) {
    store[fields.energy][5] = 1e35F;
    id = store.ids()[5];
  });
  EXPECT_NE(step.find("particle "), std::string::npos) << step;
  EXPECT_NE(step.find("its time step is "), std::string::npos) << step;
  EXPECT_NE(step.find(": signals of its neighbours are too fast"), std::string::npos) << step;
}

}  // namespace
}  // namespace sph::simulation_test
