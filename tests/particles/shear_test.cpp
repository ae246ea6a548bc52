// SPDX-License-Identifier: Apache-2.0
// Shearing boxes: all interactions, beside sums over all images, after particles have crossed the boundaries.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/particles/neighbours/contact.hpp"
#include "plait/particles/steps/system.hpp"
#include "plait/testing/run_program.hpp"

#include "data/leaks_allowed.hpp"
#include "particles/samples.hpp"

namespace plait::particles::shear_test {
namespace {

constexpr Box root{{-0.5, 0, -0.2}, {0.5, 1.5, 0.2}};
constexpr double width = 1, depth = 1.5, rate = 0.9;
constexpr double near_radius = 0.12;
constexpr std::size_t count = 260;
constexpr double dt = 0.11;

struct Body {
  Vector position, velocity;
  double mass = 0;
  float reach = 0;
};

/// Some are fast, and cross all boundaries several times.
std::vector<Body> some_bodies() {
  std::mt19937_64 random{11};
  std::uniform_real_distribution<double> some{-0.5, 0.5};
  std::vector<Body> bodies(count);
  for (Body& body : bodies) {
    body.position = {some(random), 0.75 + depth * some(random), 0.4 * some(random)};
    body.velocity = {2 * some(random), some(random) - rate * body.position.x, 0.1 * some(random)};
    body.mass = (1 + some(random)) / count;
    body.reach = static_cast<float>(0.15 + 0.1 * some(random));
  }
  return bodies;
}

/// Boxes slide by exactly this, without a modulus.
double slid(double time) {
  return rate * width * time;
}

/// A body that moves freely from time 0 on: its image in the root box.
Body at_time(Body body, double time) {
  body.position += time * body.velocity;
  const double rows = std::floor((body.position.x - root.low.x) / width);
  body.position.x -= rows * width;
  body.position.y += rows * slid(time);
  body.velocity.y += rows * rate * width;
  body.position.y -= depth * std::floor((body.position.y - root.low.y) / depth);
  return body;
}

/// Calls `use(offset, y_speed)` for each image of `from` that may matter to `to`.
template <class Use>
void for_images(const Vector& to, const Vector& from, double time, Use use) {
  const double columns = std::ceil(slid(time) / depth) + 2;
  for (double row = -2; row <= 2; ++row) {
    for (double column = -2 * columns; column <= 2 * columns; ++column) {
      use(from - to + Vector{row * width, column * depth - row * slid(time), 0}, -row * rate * width);
    }
  }
}

/// What a body gets from all others.
struct Sums {
  Vector acceleration;           ///< Of gravity and contacts.
  double density = 0, flux = 0;  ///< Sums over all images within reach: weights, and weighted relative velocities.
  std::size_t neighbours = 0;
};

ContactLaw law() {
  return ContactLaw{{.radius = near_radius, .period = 0.4, .restitution = 0.5}};
}

/// Whether particles touch, beside gravity.
enum class Contacts : std::uint8_t { none, springs };

Sums plain_sums(const std::vector<Body>& bodies, std::size_t i, double time, Contacts touch = Contacts::springs) {
  Sums sums;
  const Body& own = bodies[i];
  for (std::size_t j = 0; j < bodies.size(); ++j) {
    const Body& other = bodies[j];
    double shortest = std::numeric_limits<double>::infinity();
    for_images(own.position, other.position, time, [&](const Vector& offset, double y_speed) {
      const double r = length(offset);
      const Vector relative = other.velocity + Vector{0, y_speed, 0} - own.velocity;
      shortest = std::min(shortest, r);
      if (r < static_cast<double>(own.reach)) {
        sums.density += other.mass;
        sums.flux += other.mass * relative.y * (1 - r / static_cast<double>(own.reach));
      }
      const bool acts = std::abs(offset.x) <= width / 2 && std::abs(offset.y) <= depth / 2;
      if (i != j && acts) {
        const double bounded = std::max(r, near_radius);
        sums.acceleration += (other.mass / (bounded * bounded * bounded)) * offset;
        if (r < near_radius && touch == Contacts::springs) {
          sums.acceleration += contact_force(law(), {offset, relative, own.mass, other.mass}).acceleration;
        }
      }
    });
    sums.neighbours += i != j && shortest <= 0.2 ? 1 : 0;
  }
  return sums;
}

struct Setting {
  std::uint32_t ranks = 1;
  double theta = 0;
  LetMode lets = LetMode::exact;
  std::uint32_t steps_between_trees = 1;
  int steps = 23;
  Contacts touch = Contacts::springs;
};

struct Found {
  std::vector<Body> bodies{count};
  std::vector<Sums> sums{count};
  std::size_t ranks_with_particles = 0;
};

Space space_of(Field<Vector> velocity) {
  return {.root = root, .periodic = {true, true, false}, .shear = {.rate = rate, .velocity = velocity}};
}

/// A program on each rank: bodies drift for some steps, then all sums are taken.
struct Patch : test::Sample {
  Field<float> reach = store.add_field<float>("reach");
  Field<double> density = store.add_field<double>("density");
  Field<double> flux = store.add_field<double>("flux");

  void add(std::size_t first, std::size_t last) {
    const std::vector<Body> bodies = some_bodies();
    for (std::size_t i = first; i < last; ++i) {
      const std::size_t at = store.add(1);
      store.ids()[at] = i;
      store.positions()[at] = bodies[i].position;
      store[velocity][at] = bodies[i].velocity;
      store[mass][at] = bodies[i].mass;
      store[reach][at] = bodies[i].reach;
    }
  }

  void add_interactions(System& system, const Setting& setting) {
    const ContactFields fields{mass, velocity, acceleration, potential};
    system.add_long_range({.charge = mass,
                           .acceleration = acceleration,
                           .potential = potential,
                           .theta = setting.theta,
                           .near_radius = near_radius,
                           .near = setting.touch == Contacts::none ? nullptr : contacts(law(), store, fields),
                           .near_sums = contact_sums,
                           .travels = {velocity},
                           .lets = setting.lets,
                           .leaf_bodies_max = 4,
                           .group_bodies_max = 8,
                           .batch_bodies_max = 16});
    system.add_short_range({.reach = reach, .sources = {mass, velocity}}, {density, flux}, [this](const Block& block) {
      for (std::size_t i = 0; i < block.targets.size(); ++i) {
        add_short_range_sums(block, i);
      }
    });
  }

  void add_short_range_sums(const Block& block, std::size_t i) {
    const std::size_t place = block.targets.places()[i];
    const double h = static_cast<double>(store[reach][place]);
    for (std::size_t j = 0; j < block.sources.size(); ++j) {
      const double r = length(block.offset(i, j));
      if (r < h) {
        const double weight = block.source(mass, j);
        const double speed = block.velocity(velocity, j).y;
        EXPECT_NEAR(speed, static_cast<double>(block.sources[velocity].y[j]), 1e-5);
        store[density][place] += weight;
        store[flux][place] += weight * (speed - store[velocity][place].y) * (1 - r / h);
      }
    }
  }
};

Found run(const Setting& setting) {
  Found found;
  std::mutex mutex;
  plait::test::run_program({.ranks = setting.ranks}, {.worker_count = 2}, [&](Runtime& runtime) {
    Patch patch;
    if (runtime.self().value() + 1 == setting.ranks) {
      patch.add(0, count);
    }
    SystemOptions options{.space = space_of(patch.velocity), .steps_between_trees = setting.steps_between_trees};
    if (setting.ranks == 7) {
      options.grid = {1, 7, 1};
    }
    System system{runtime.messages(), runtime.scheduler(), patch.store, options};
    patch.add_interactions(system, setting);
    const NeighbourLists& near = system.add_neighbour_lists({.radius = 0.2});
    system.before("drift", [&](Particles& some, std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        some.positions()[i] += dt * some[patch.velocity][i];
      }
    });
    system.update();
    for (int step = 1; step <= setting.steps; ++step) {
      system.set_time(step * dt);
      system.step();
    }
    const std::lock_guard lock{mutex};
    const Particles& store = patch.store;
    found.ranks_with_particles += store.is_empty() ? 0 : 1;
    for (std::size_t i = 0; i < store.size(); ++i) {
      const std::uint64_t id = store.ids()[i];
      found.bodies[id] = {store.positions()[i], store[patch.velocity][i], store[patch.mass][i], store[patch.reach][i]};
      found.sums[id] = {
          store[patch.acceleration][i], store[patch.density][i], store[patch.flux][i], near.neighbours(i).size()};
    }
  });
  return found;
}

double rms_error_of(const Setting& setting) {
  const Found found = run(setting);
  std::vector<Vector> is, should;
  for (std::size_t i = 0; i < count; ++i) {
    is.push_back(found.sums[i].acceleration);
    should.push_back(plain_sums(found.bodies, i, setting.steps * dt, setting.touch).acceleration);
  }
  return test::rms_error(is, should);
}

class ShearOnRanks : public testing::TestWithParam<std::uint32_t> {};

TEST_P(ShearOnRanks, particles_cross_boundaries_to_where_their_images_are) {
  const Setting setting{.ranks = GetParam()};
  const Found found = run(setting);
  const double time = setting.steps * dt;
  const std::vector<Body> begin = some_bodies();
  std::size_t crossed = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Body expected = at_time(begin[i], time);
    EXPECT_LT(length(found.bodies[i].position - expected.position), 1e-12) << i;
    EXPECT_LT(length(found.bodies[i].velocity - expected.velocity), 1e-12) << i;
    crossed += std::abs(expected.velocity.y - begin[i].velocity.y) > rate ? 1 : 0;
  }
  EXPECT_GT(crossed, count / 5) << "several boundaries";
  EXPECT_EQ(found.ranks_with_particles, setting.ranks);
}

TEST_P(ShearOnRanks, sums_are_those_over_all_images) {
  for (const int steps : {1, 10, 23}) {
    const Setting setting{.ranks = GetParam(), .steps = steps};
    const Found found = run(setting);
    const double time = steps * dt;
    EXPECT_LT(rms_error_of(setting), 1e-11);
    for (std::size_t i = 0; i < count; ++i) {
      const Sums expected = plain_sums(found.bodies, i, time);
      EXPECT_NEAR(found.sums[i].density, expected.density, 1e-6) << i;
      EXPECT_NEAR(found.sums[i].flux, expected.flux, 1e-5) << i;
      EXPECT_EQ(found.sums[i].neighbours, expected.neighbours) << i;
    }
  }
}

TEST_P(ShearOnRanks, trees_are_as_exact_as_in_boxes_at_rest) {
  for (const LetMode lets : {LetMode::all_to_all, LetMode::exact, LetMode::fast}) {
    Setting setting{.ranks = GetParam(), .theta = 0.4, .lets = lets, .touch = Contacts::none};
    const double error = rms_error_of(setting);
    setting.steps = 0;  // the boxes are in line
    const double error_at_rest = rms_error_of(setting);
    EXPECT_LT(error, 1.25 * error_at_rest);
    EXPECT_LT(error, 0.07) << "forces nearly cancel, and a cell half a box away acts as a whole";
  }
}

TEST_P(ShearOnRanks, images_slide_between_two_builds_of_trees) {
  const Setting setting{.ranks = GetParam(), .steps_between_trees = 4, .steps = 22};
  EXPECT_LT(rms_error_of(setting), 1e-11);
}

INSTANTIATE_TEST_SUITE_P(Ranks, ShearOnRanks, testing::Values(1U, 2U, 3U, 7U));

/// The sentence with which a system of one rank refuses.
std::string refusal(
    const Space& space, double time, const std::function<void(System&, Patch&)>& add = [](System&, Patch&) {}) {
  std::string sentence;
  plait::test::run_program({.ranks = 1}, {.worker_count = 1}, [&](Runtime& runtime) {
    const data::test::LeaksAllowed leaks;
    Patch patch;
    patch.add(0, 20);
    try {
      System system{runtime.messages(), runtime.scheduler(), patch.store, {.space = space}};
      add(system, patch);
      system.set_time(time);
      system.update();
    } catch (const Error& error) {
      sentence = error.what();
    }
  });
  return sentence;
}

bool mentions(const std::string& sentence, const std::string& word) {
  return sentence.find(word) != std::string::npos;
}

TEST(Shear, refuses_with_a_sentence_what_cannot_slide) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Space space{.root = root, .periodic = {true, true, true}, .shear = {.rate = rate}};
  EXPECT_EQ(refusal(space, 1), "");
  EXPECT_EQ(refusal(space, -1e5), "") << "a negative time is one before the boxes were in line";
  EXPECT_TRUE(mentions(refusal(space, nan), "at time nan"));
  EXPECT_TRUE(mentions(refusal(space, std::numeric_limits<double>::infinity()), "at time inf"));
  space.shear.rate = nan;
  EXPECT_TRUE(mentions(refusal(space, 0), "rate nan"));
  space.shear.rate = rate;
  space.root.high.y = space.root.low.y;
  EXPECT_TRUE(mentions(refusal(space, 0), "periodic along y"));
  space.root = root;
  space.periodic = {true, false, false};
  EXPECT_TRUE(mentions(refusal(space, 0), "make both axes periodic"));
  space = {.coordinates = Coordinates::cylindrical, .shear = {.rate = rate}};
  EXPECT_TRUE(mentions(refusal(space, 0), "make both axes periodic"));
}

TEST(Shear, refuses_with_a_sentence_forces_that_reach_several_images) {
  const Space space{.root = root, .periodic = {true, true, false}, .shear = {.rate = rate}};
  const auto with = [&](double cutoff, double radius) {
    return refusal(space, 1, [&](System& system, Patch& patch) {
      system.add_long_range({.charge = patch.mass,
                             .acceleration = patch.acceleration,
                             .potential = patch.potential,
                             .near_radius = radius,
                             .cutoff = cutoff});
    });
  };
  EXPECT_EQ(with(0.5, 0.5), "");
  EXPECT_TRUE(mentions(with(0.51, 0), "the cut-off 0.51 is more than half"));
  EXPECT_TRUE(mentions(with(0, 0.6), "the near radius 0.6 is more than half"));
}

}  // namespace
}  // namespace plait::particles::shear_test
