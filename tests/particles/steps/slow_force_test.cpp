// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/steps/slow_force.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "plait/particles/steps/system.hpp"
#include "plait/testing/local_rank.hpp"

#include "data/leaks_allowed.hpp"

namespace plait::particles::slow_force_test {
namespace {

using plait::test::LocalRank;
using plait::test::run_on_ranks;

constexpr Vector steady{0.5, -1, 0};  ///< The acceleration in each of the particles' own steps,
constexpr Vector slow{2, 0, 1};       ///< and in those of the slow force.

struct Bodies {
  Particles store;
  Field<Vector> velocity = store.add_field<Vector>("velocity");
  Field<Vector> velocity_now = store.add_field<Vector>("velocity now");
  Field<Vector> acceleration = store.add_field<Vector>("acceleration");
  Field<Vector> slow_acceleration = store.add_field<Vector>("slow acceleration");
  Field<double> slow_potential = store.add_field<double>("slow potential");
  Field<float> reach = store.add_field<float>("reach");
  StepFields steps{store};

  /// On a line, every `ranks`th from `first` on.
  void add(std::size_t count, std::size_t first, std::size_t ranks) {
    for (std::size_t id = first; id < count; id += ranks) {
      const std::size_t place = store.add(1);
      store.ids()[place] = id;
      store.positions()[place] = {static_cast<double>(id), 0, 0};
      store[reach][place] = 1.5F;
    }
  }
};

/// A uniform field, whose potential is that of the place.
class Pull final : public Interaction {
 public:
  explicit Pull(const Bodies& bodies) : bodies_{bodies} {}

  std::vector<task::Task> add_building_tasks(const StepFrame&, task::Task) override { return {}; }
  std::vector<task::Task> add_refreshing_tasks(const StepFrame&, task::Task) override { return {}; }
  std::vector<task::Task> add_summing_tasks(const StepFrame& frame, task::Task after, task::Task end) override {
    task::Task sum = frame.graph.task("pull", [this, &store = frame.store] {
      for (std::size_t i = 0; i < store.size(); ++i) {
        store[bodies_.slow_acceleration][i] += slow;
        store[bodies_.slow_potential][i] -= dot(slow, store.positions()[i]);
      }
    });
    sum.after(after).before(end);
    return {sum};
  }
  void clear_results(Particles& store, std::size_t first, std::size_t last) override {
    std::ranges::fill(store[bodies_.slow_acceleration].subspan(first, last - first), Vector{});
    std::ranges::fill(store[bodies_.slow_potential].subspan(first, last - first), 0);
  }
  void take_times(StepTimes&) override {}

 private:
  const Bodies& bodies_;
};

/// Adds the slow acceleration to the velocities of `field`.
auto adding_to(const Bodies& bodies, Field<Vector> field) {
  return [&bodies, field](Particles& store, std::span<const Kick> kicks) {
    for (const Kick& kick : kicks) {
      store[field][kick.place] += kick.duration * store[bodies.slow_acceleration][kick.place];
    }
  };
}

SlowForce pull_of(const Bodies& bodies) {
  return {.sum = std::make_unique<Pull>(bodies),
          .results = {bodies.slow_acceleration, bodies.slow_potential},
          .forces = {bodies.slow_acceleration},
          .kick = adding_to(bodies, bodies.velocity),
          .predict = adding_to(bodies, bodies.velocity_now)};
}

/// Kicks from the begin last this long: not as drifts do.
double kick_until(double time) {
  return time * (1 + time);
}

Integrator motion_of(const Bodies& bodies) {
  Integrator motion =
      leapfrog({.velocity = bodies.velocity, .acceleration = bodies.acceleration, .velocity_now = bodies.velocity_now});
  motion.drift_duration = [](double from, double to) { return to - from; };
  motion.kick_duration = [](double from, double to) { return kick_until(to) - kick_until(from); };
  return motion;
}

/// Steps of a quarter of the run for the slow force; particles have steps that are up to eight times shorter.
constexpr TimeSteps quarters{.lengths = StepLengths::individual, .end = 1, .step_max = 0.25};

struct Declaration {
  TimeSteps steps = quarters;
  double longest_factor = 1;  ///< Of criteria.
  std::function<void(Integrator&)> change_motion = [](Integrator&) {};
  std::function<void(SlowForce&)> change_force = [](SlowForce&) {};
};

void declare(System& system, const Bodies& bodies, const Declaration& how = {}) {
  Integrator motion = motion_of(bodies);
  how.change_motion(motion);
  system.integrate(std::move(motion));
  system.after("steady", [&bodies](Particles& store, std::size_t first, std::size_t last) {
    std::ranges::fill(store[bodies.acceleration].subspan(first, last - first), steady);
  });
  system.limit_steps_by([factor = how.longest_factor](const Particles& store, auto places, auto longest) {
    for (std::size_t k = 0; k < places.size(); ++k) {
      longest[k] = factor * 0.25 / static_cast<double>(1U << (store.ids()[places[k]] / 10 % 4));
    }
  });
  system.take_steps(how.steps, bodies.steps);
  SlowForce force = pull_of(bodies);
  how.change_force(force);
  system.add_slow_force(std::move(force));
}

/// The largest difference of the vectors from one.
double distance(std::span<const Vector> vectors, const Vector& from) {
  double most = 0;
  for (const Vector& vector : vectors) {
    most = std::max(most, length(vector - from));
  }
  return most;
}

TEST(SlowForce, is_part_of_the_velocities_that_are_predicted_by_kicks) {
  for (const std::uint32_t ranks : {1U, 2U}) {
    run_on_ranks({.ranks = ranks}, {.worker_count = 2}, [ranks](LocalRank& rank) {
      Bodies bodies;
      bodies.add(80, rank.self().value(), ranks);
      System system{rank.messages(), rank.scheduler(), bodies.store};
      declare(system, bodies);
      std::size_t steps = 0;
      for (; !system.is_over(); ++steps) {
        (void)system.step();
        system.synchronise();
        const Vector expected = kick_until(system.time()) * (steady + slow);
        EXPECT_LT(distance(bodies.store[bodies.velocity_now], expected), 1e-12) << system.time();
      }
      EXPECT_EQ(steps, 32U);
      EXPECT_LT(distance(bodies.store[bodies.velocity], kick_until(1) * (steady + slow)), 1e-12);
    });
  }
}

TEST(SlowForce, is_part_of_predictions_of_equal_steps_on_cells) {
  run_on_ranks({.ranks = 1}, {}, [](LocalRank& rank) {
    Bodies bodies;
    bodies.add(80, 0, 1);
    System system{rank.messages(), rank.scheduler(), bodies.store};
    declare(system, bodies, {.steps = {.lengths = StepLengths::equal, .end = 1, .step_max = 0.25}});
    system.add_stage({.name = "pause", .work = [](const StageWork&) {}});
    while (!system.is_over()) {
      (void)system.step();
      const Vector expected = kick_until(system.time()) * (steady + slow);
      EXPECT_LT(distance(bodies.store[bodies.velocity_now], expected), 1e-12) << system.time();
    }
  });
}

TEST(SlowForce, has_its_steps_also_where_criteria_allow_longer_ones) {
  run_on_ranks({.ranks = 1}, {}, [](LocalRank& rank) {
    Bodies bodies;
    bodies.add(80, 0, 1);
    System system{rank.messages(), rank.scheduler(), bodies.store};
    declare(system, bodies, {.longest_factor = 64});
    for (int step = 1; step <= 4; ++step) {
      EXPECT_EQ(system.step().time, 0.25 * step);
    }
    EXPECT_TRUE(system.is_over());
    EXPECT_LT(distance(bodies.store[bodies.velocity], kick_until(1) * (steady + slow)), 1e-12);
  });
}

TEST(SlowForce, keeps_what_its_kicks_read_when_particles_are_synchronised) {
  run_on_ranks({.ranks = 1}, {}, [](LocalRank& rank) {
    Bodies bodies;
    bodies.add(80, 0, 1);
    System system{rank.messages(), rank.scheduler(), bodies.store};
    declare(system, bodies);
    (void)system.step();
    (void)system.step();
    const Vector mark{7, 7, 7};
    std::ranges::fill(bodies.store[bodies.slow_acceleration], mark);
    system.synchronise();
    EXPECT_EQ(distance(bodies.store[bodies.slow_acceleration], mark), 0);
    for (std::size_t i = 0; i < bodies.store.size(); ++i) {
      EXPECT_EQ(bodies.store[bodies.slow_potential][i], -dot(slow, bodies.store.positions()[i])) << "of the present";
    }
  });
}

/// The error of a system's first step.
std::string error_of(const Declaration& how, const std::function<void(System&, const Bodies&)>& add = {}) {
  return plait::test::errors_on_ranks({.ranks = 1}, {}, [&](LocalRank& rank) {
    const data::test::LeaksAllowed leaks;
    Bodies bodies;
    bodies.add(20, 0, 1);
    System system{rank.messages(), rank.scheduler(), bodies.store};
    declare(system, bodies, how);
    if (add) {
      add(system, bodies);
    }
    (void)system.step();
  })[0];
}

void expect_error(const std::string& part, const Declaration& how) {
  const std::string message = error_of(how);
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(SlowForce, without_a_part_is_refused) {
  const std::string lacks = "lacks a part";
  EXPECT_EQ(error_of({}), "");
  expect_error(lacks, {.change_force = [](SlowForce& force) { force.sum = nullptr; }});
  expect_error(lacks, {.change_force = [](SlowForce& force) { force.kick = nullptr; }});
  expect_error(lacks, {.change_force = [](SlowForce& force) { force.forces.clear(); }});
  expect_error(lacks, {.change_force = [](SlowForce& force) { force.results.clear(); }});
  expect_error("give SlowForce::predict", {.change_force = [](SlowForce& force) { force.predict = nullptr; }});
}

TEST(SlowForce, with_a_result_of_another_sum_is_refused) {
  const std::string message = error_of({}, [](System& system, const Bodies& bodies) {
    system.add_short_range({.reach = bodies.reach}, {bodies.slow_potential}, [](const auto&) {});
  });
  EXPECT_NE(message.find("several interactions with one result"), std::string::npos) << message;
}

TEST(SlowForce, goes_on_with_its_steps_only) {
  run_on_ranks({.ranks = 1}, {}, [](LocalRank& rank) {
    const data::test::LeaksAllowed leaks;
    Bodies bodies;
    bodies.add(80, 0, 1);
    const CellsOfSystem cells{.reach = bodies.reach};
    System first{rank.messages(), rank.scheduler(), bodies.store, {.cells = cells}};
    declare(first, bodies);
    (void)first.step();
    const SavedSteps saved = first.save_steps();
    EXPECT_EQ(task::TimeLine(0, 1).duration(task::ticks_of(saved.slow)), 0.25);
    TimeSteps shorter = quarters;
    shorter.step_max = 0.125;
    System other{rank.messages(), rank.scheduler(), bodies.store, {.resumed = saved, .cells = cells}};
    declare(other, bodies, {.steps = shorter});
    EXPECT_THROW((void)other.step(), Error);
    System same{rank.messages(), rank.scheduler(), bodies.store, {.resumed = saved, .cells = cells}};
    declare(same, bodies);
    while (!same.is_over()) {
      (void)same.step();
    }
    EXPECT_LT(distance(bodies.store[bodies.velocity], kick_until(1) * (steady + slow)), 1e-12);
  });
}

// ---- durations ----

TEST(Durations, that_are_not_finite_or_go_back_are_refused) {
  for (const StepLengths lengths : {StepLengths::individual, StepLengths::equal}) {
    for (const double wrong : {std::nan(""), -1.0, std::numeric_limits<double>::infinity()}) {
      const std::string message = plait::test::errors_on_ranks({.ranks = 1}, {}, [&](LocalRank& rank) {
        const data::test::LeaksAllowed leaks;
        Bodies bodies;
        bodies.add(20, 0, 1);
        System system{rank.messages(), rank.scheduler(), bodies.store};
        Integrator motion = motion_of(bodies);
        (wrong > 0 ? motion.kick_duration : motion.drift_duration) = [wrong](double from, double to) {
          return from < to ? wrong : 0;
        };
        system.integrate(std::move(motion));
        system.take_steps({.lengths = lengths, .end = 1, .step_max = 0.25}, bodies.steps);
        (void)system.step();
      })[0];
      EXPECT_NE(message.find("_duration returned"), std::string::npos) << message;
    }
  }
}

TEST(Durations, are_of_times_of_the_run_and_computed_once_for_cells_of_one_time) {
  run_on_ranks({.ranks = 1}, {.worker_count = 1}, [](LocalRank& rank) {
    Bodies bodies;
    bodies.add(2000, 0, 1);
    std::atomic<std::size_t> drifts = 0;
    double last = 0;
    System system{rank.messages(),
                  rank.scheduler(),
                  bodies.store,
                  {.cells = {.reach = bodies.reach,
                             .sizes = {.leaf_particles_max = 4, .group_particles_max = 8, .cell_particles_max = 16}}}};
    const Declaration how{.change_motion = [&](Integrator& motion) {
      motion.drift_duration = [&](double from, double to) {
        ++drifts;
        last = std::max(last, to);
        return to - from;
      };
    }};
    declare(system, bodies, how);
    std::size_t steps = 0;
    for (; !system.is_over(); ++steps) {
      (void)system.step();
    }
    EXPECT_EQ(last, 1);
    EXPECT_LT(drifts.load(), 20 * steps) << "there are more than 100 cells";
  });
}

}  // namespace
}  // namespace plait::particles::slow_force_test
