// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/groups/density_profile.hpp"

#include <mutex>
#include <numbers>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/testing/run_program.hpp"

#include "particles/samples.hpp"

namespace plait::particles::density_profile_test {
namespace {

/// Of particles along x, at 0.1, 0.3, ... 0.9 of a periodic box, with masses 1, 2, ... 5, on two ranks.
DensityProfile measure(double centre, std::vector<double> radii) {
  DensityProfile profile;
  std::mutex mutex;
  plait::test::run_program({.ranks = 2}, [&](Runtime& runtime) {
    test::Sample sample;
    for (int i = static_cast<int>(runtime.self().value()); i < 5; i += 2) {
      const std::size_t at = sample.store.add(1);
      sample.store.positions()[at] = {0.1 + 0.2 * i, 0.5, 0.5};
      sample.store[sample.mass][at] = i + 1;
    }
    const DensityProfile mine =
        measure_density_profile(runtime.messages(),
                                sample.store,
                                {.mass = sample.mass,
                                 .space = {.root = {{0, 0, 0}, {1, 1, 1}}, .periodic = {true, true, true}},
                                 .centre = {centre, 0.5, 0.5},
                                 .radii = radii});
    const std::lock_guard lock{mutex};
    profile = mine;
  });
  return profile;
}

TEST(DensityProfile, HasTheMassOfShellsAcrossAPeriodicEdge) {
  const DensityProfile profile = measure(0.1, {0, 0.05, 0.25, 0.45});
  EXPECT_EQ(profile.mass, (std::vector<double>{1, 2 + 5, 3 + 4}));
  EXPECT_EQ(profile.particles, (std::vector<std::uint64_t>{1, 2, 2}));
  EXPECT_DOUBLE_EQ(profile.density(0), 1 / (4.0 / 3 * std::numbers::pi * 0.05 * 0.05 * 0.05));
}

TEST(DensityProfile, RefusesRadiiThatDoNotAscend) {
  EXPECT_THROW(measure(0.1, {0.1}), Error);
  EXPECT_THROW(measure(0.1, {0, 0.2, 0.2}), Error);
  EXPECT_THROW(measure(0.1, {-1, 0.2}), Error);
}

}  // namespace
}  // namespace plait::particles::density_profile_test
