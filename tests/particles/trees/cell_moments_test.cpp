// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/trees/cell_moments.hpp"

#include <cmath>
#include <functional>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/particles/steps/system.hpp"
#include "plait/particles/trees/tree_build.hpp"
#include "plait/testing/run_program.hpp"

#include "particles/samples.hpp"

namespace plait::particles::cell_moments_test {
namespace {

using test::Sample;

constexpr std::size_t body_count = 1'500;

/// The second moments of a cell, in double precision.
struct SecondMoments {
  double mass = 0;
  double xx = 0, xy = 0, xz = 0, yy = 0, yz = 0, zz = 0;

  void add_point(double m, const Vector& d) {
    mass += m;
    xx += m * d.x * d.x;
    xy += m * d.x * d.y;
    xz += m * d.x * d.z;
    yy += m * d.y * d.y;
    yz += m * d.y * d.z;
    zz += m * d.z * d.z;
  }
  [[nodiscard]] Vector times(const Vector& d) const {
    return {xx * d.x + xy * d.y + xz * d.z, xy * d.x + yy * d.y + yz * d.z, xz * d.x + yz * d.y + zz * d.z};
  }
};

CellMoments second_moments(Field<double> mass) {
  return make_moments<SecondMoments>(
      [mass](SecondMoments& sum, const Particles& store, Particles::Index place, const Vector& offset) {
        sum.add_point(store[mass][place], offset);
      },
      [](SecondMoments& sum, const SecondMoments& child, const Vector& offset) {
        // The dipole of a child about its centre of mass is 0.
        sum.add_point(child.mass, offset);
        sum.xx += child.xx;
        sum.xy += child.xy;
        sum.xz += child.xz;
        sum.yy += child.yy;
        sum.yz += child.yz;
        sum.zz += child.zz;
      });
}

/// A potential g(r) by what follows from it: a = g'/r, b = a'/r, c = b'/r.
struct Radial {
  double g = 0, a = 0, b = 0, c = 0;
};
using Law = std::function<Radial(double r)>;

Radial newton(double r) {
  const double g = 1 / r;
  const double g3 = g * g * g;
  return {g, -g3, 3 * g3 * g * g, -15 * g3 * g3 * g};
}

Radial yukawa(double r) {
  constexpr double k = 2;  // the inverse of the range
  const double x = k * r;
  const double e = std::exp(-x);
  const double r3 = r * r * r;
  return {e / r,
          -e * (x + 1) / r3,
          e * (x * x + 3 * x + 3) / (r3 * r * r),
          -e * (x * x * x + 6 * x * x + 15 * x + 15) / (r3 * r3 * r)};
}

void add(Pull& pull, double m, const Vector& d, const Radial& law) {
  pull.x -= m * law.a * d.x;
  pull.y -= m * law.a * d.y;
  pull.z -= m * law.a * d.z;
  pull.potential -= m * law.g;
}

LongRangeKernel kernel_of(const Law& law) {
  return [law](const KernelWork& work) {
    const auto moments = work.moments_as<SecondMoments>();
    for (std::size_t i = 0; i < work.targets.count; ++i) {
      Pull& pull = work.targets.pulls[i];
      for (std::size_t j = 0; j < work.bodies.length; ++j) {
        const Vector d{work.bodies.x[j] - work.targets.x[i],
                       work.bodies.y[j] - work.targets.y[i],
                       work.bodies.z[j] - work.targets.z[i]};
        if (work.bodies.mass[j] != 0 && dot(d, d) > 0) {
          add(pull, work.bodies.mass[j], d, law(length(d)));
        }
      }
      for (std::size_t j = 0; j < moments.size(); ++j) {
        const Vector d{static_cast<double>(work.cells.x[j] - work.targets.near_x[i]),
                       static_cast<double>(work.cells.y[j] - work.targets.near_y[i]),
                       static_cast<double>(work.cells.z[j] - work.targets.near_z[i])};
        const SecondMoments& s = moments[j];
        const Radial at = law(length(d));
        add(pull, s.mass, d, at);
        const Vector sd = s.times(d);
        const double trace = s.xx + s.yy + s.zz;
        const double radial = (at.b * trace + at.c * dot(d, sd)) / 2;
        pull.x -= radial * d.x + at.b * sd.x;
        pull.y -= radial * d.y + at.b * sd.y;
        pull.z -= radial * d.z + at.b * sd.z;
        pull.potential -= (at.a * trace + at.b * dot(d, sd)) / 2;
      }
    }
  };
}

struct Outcome {
  std::vector<Vector> accelerations = std::vector<Vector>(body_count);
  std::vector<double> potentials = std::vector<double>(body_count);
};

Outcome direct(const Law& law) {
  Sample sample;
  test::add_sphere(sample, body_count);
  Outcome outcome;
  for (std::size_t i = 0; i < body_count; ++i) {
    Pull pull;
    for (std::size_t j = 0; j < body_count; ++j) {
      if (i != j) {
        const Vector d = sample.store.positions()[j] - sample.store.positions()[i];
        add(pull, sample.store[sample.mass][j], d, law(length(d)));
      }
    }
    outcome.accelerations[i] = {pull.x, pull.y, pull.z};
    outcome.potentials[i] = pull.potential;
  }
  return outcome;
}

/// Every rank begins with a share of the sphere. `complete` sets what differs between tests.
Outcome compute(std::uint32_t ranks, const std::function<void(LongRangeOptions&, const Sample&)>& complete) {
  Outcome outcome;
  std::mutex mutex;
  plait::test::run_program({.ranks = ranks}, {.worker_count = 2}, [&](Runtime& runtime) {
    const std::size_t rank = runtime.self().value();
    Sample sample;
    test::add_sphere(sample, body_count, body_count * rank / ranks, body_count * (rank + 1) / ranks);
    LongRangeOptions options{.charge = sample.mass, .acceleration = sample.acceleration, .potential = sample.potential};
    options.summaries_gathered_max = 8;
    complete(options, sample);
    System system{runtime.messages(), runtime.scheduler(), sample.store, {.steps_between_trees = 2}};
    system.add_long_range(options);
    system.update();
    system.update();  // refreshed moments are those of built trees
    const std::lock_guard lock{mutex};
    for (std::size_t i = 0; i < sample.store.size(); ++i) {
      const std::uint64_t id = sample.store.ids()[i];
      outcome.accelerations[id] = sample.store[sample.acceleration][i];
      outcome.potentials[id] = sample.store[sample.potential][i];
    }
  });
  return outcome;
}

double rms_error(std::span<const double> found, std::span<const double> expected) {
  double error = 0;
  double norm = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    error += (found[i] - expected[i]) * (found[i] - expected[i]);
    norm += expected[i] * expected[i];
  }
  return std::sqrt(error / norm);
}

class MomentsOnRanks : public testing::TestWithParam<std::uint32_t> {};

TEST_P(MomentsOnRanks, a_yukawa_force_of_the_program_is_near_the_direct_sum_in_every_mode) {
  const Outcome exact = direct(yukawa);
  for (const LetMode mode : {LetMode::all_to_all, LetMode::exact, LetMode::fast}) {
    for (const double theta : {0.0, 0.3, 0.6}) {
      const Outcome found = compute(GetParam(), [&](LongRangeOptions& options, const Sample& sample) {
        options.theta = theta;
        options.lets = mode;
        options.moments = second_moments(sample.mass);
        options.kernel = kernel_of(yukawa);
      });
      const double error_max = theta == 0 ? 1e-12 : theta < 0.5 ? 2e-4 : 2e-3;
      EXPECT_LT(test::rms_error(found.accelerations, exact.accelerations), error_max);
      EXPECT_LT(rms_error(found.potentials, exact.potentials), error_max);
    }
  }
}

TEST_P(MomentsOnRanks, quadrupoles_of_the_program_give_the_gravity_that_is_built_in) {
  const Outcome own = compute(GetParam(), [](LongRangeOptions& options, const Sample& sample) {
    options.moments = second_moments(sample.mass);
    options.kernel = kernel_of(newton);
  });
  const Outcome built_in = compute(GetParam(), [](LongRangeOptions&, const Sample&) {});
  EXPECT_LT(test::rms_error(own.accelerations, built_in.accelerations), 1e-6);
  EXPECT_LT(rms_error(own.potentials, built_in.potentials), 1e-6);
  EXPECT_LT(test::rms_error(own.accelerations, direct(newton).accelerations), 1e-3);
}

TEST_P(MomentsOnRanks, a_kernel_reads_the_fields_of_bodies_that_travel) {
  for (const Precision precision : {Precision::full, Precision::mixed}) {
    const Outcome found = compute(GetParam(), [&](LongRangeOptions& options, const Sample& sample) {
      options.theta = 0;
      options.precision = precision;
      options.travels = {sample.velocity, Particles::id};
      options.kernel = [](const KernelWork& work) {
        double sum = 0;
        for (std::size_t j = 0; j < work.indices.size(); ++j) {
          sum += static_cast<double>(work.travelling<std::uint64_t>(1, j)) + work.travelling<Vector>(0, j).x;
        }
        for (std::size_t i = 0; i < work.targets.count; ++i) {
          work.targets.pulls[i].potential += sum;
        }
      };
    });
    Sample all;
    test::add_sphere(all, body_count);
    double expected = 0;
    for (std::size_t i = 0; i < body_count; ++i) {
      expected += static_cast<double>(i) + all.store[all.velocity][i].x;
    }
    for (const double potential : found.potentials) {
      EXPECT_NEAR(potential, expected, 1e-6);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, MomentsOnRanks, testing::Values(1, 3, 7, 64), [](const auto& instance) {
  return std::to_string(instance.param);
});

TEST(CellMoments, without_a_kernel_are_refused) {
  Particles store;
  const auto mass = store.add_field<double>("mass");
  try {
    (void)make_long_range({.charge = mass, .moments = second_moments(mass)});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string{error.what()}.find("give the kernel"), std::string::npos) << error.what();
  }
}

TEST(CellMoments, have_the_bodies_of_kinds_that_are_sources_only) {
  Particles store;
  const auto mass = store.add_field<double>("mass");
  store.add(3);
  for (std::size_t i = 0; i < 3; ++i) {
    store.positions()[i] = {static_cast<double>(i), 0, 0};
    store[mass][i] = 1;
    store[Particles::kind][i] = i == 1 ? 1 : 0;
  }
  Tree tree;
  build_tree(tree, store, {.charge = mass, .sources = {0}, .moments = second_moments(mass)});
  const TreeView view = tree.view();
  ASSERT_EQ(view.moments.size(), view.nodes.size() * sizeof(SecondMoments));
  SecondMoments root;
  std::memcpy(static_cast<void*>(&root), view.moments.data(), sizeof root);
  EXPECT_DOUBLE_EQ(root.mass, 2);
  EXPECT_DOUBLE_EQ(root.xx, 2);  // about the centre of both, at 1
}

}  // namespace
}  // namespace plait::particles::cell_moments_test
