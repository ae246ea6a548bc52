// SPDX-License-Identifier: Apache-2.0
#include "plait/particle_mesh/power_spectrum.hpp"

#include <cmath>
#include <functional>
#include <mutex>
#include <numbers>
#include <random>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/testing/run_program.hpp"

#include "particles/samples.hpp"

namespace plait::particles::power_spectrum_test {
namespace {

using test::Sample;

const Box box{{-1, 0, 2}, {1, 2, 4}};
constexpr double volume = 8;

/// A place and a mass for each number below `count`.
struct Content {
  std::size_t count = 0;
  std::function<std::pair<Vector, double>(std::size_t)> particle;
};

/// On `ranks`, of which each has every `ranks`-th particle.
PowerSpectrum measure(const Content& content, std::uint32_t ranks, fft::Index mesh = 16) {
  PowerSpectrum result;
  std::mutex mutex;
  plait::test::run_program({.ranks = ranks}, [&](Runtime& runtime) {
    Sample sample;
    for (std::size_t i = runtime.self().value(); i < content.count; i += ranks) {
      const std::size_t at = sample.store.add(1);
      const auto [place, mass] = content.particle(i);
      sample.store.positions()[at] = place;
      sample.store[sample.mass][at] = mass;
    }
    const PowerSpectrum mine = measure_power_spectrum(runtime.messages(),
                                                      runtime.scheduler(),
                                                      sample.store,
                                                      {.mass = sample.mass, .box = box, .mesh = {mesh, mesh, mesh}});
    const std::lock_guard lock{mutex};
    if (!result.power.empty()) {
      EXPECT_EQ(result.power, mine.power) << "equal on all ranks";
    }
    result = mine;
  });
  return result;
}

/// A lattice of 32^3 particles whose masses are those of a wave: three periods along the box's y.
Content wave(double amplitude) {
  return {32 * 32 * 32, [=](std::size_t i) {
            const auto at_axis = [](std::size_t place) { return (static_cast<double>(place) + 0.5) / 32; };
            const Vector at{at_axis(i % 32), at_axis(i / 32 % 32), at_axis(i / 1024)};
            return std::pair{box.low + 2 * at, 1 + amplitude * std::cos(2 * std::numbers::pi * 3 * at.y)};
          }};
}

TEST(PowerSpectrum, OfAWaveIsInItsShellAlone) {
  const PowerSpectrum found = measure(wave(0.1), 1);
  ASSERT_EQ(found.power.size(), 8);
  for (std::size_t i = 0; i < found.power.size(); ++i) {
    // |d_k| is half of the amplitude for k and -k.
    const double expected = i == 2 ? volume * 2 * 0.05 * 0.05 / static_cast<double>(found.waves[i]) : 0;
    EXPECT_NEAR(found.power[i], expected, 1e-6 * volume * 0.05 * 0.05) << i;
    EXPECT_NEAR(found.wave_number[i], std::numbers::pi * (static_cast<double>(i) + 1), 1.1) << i;
  }
  EXPECT_EQ(found.waves[0], 18) << "(1, 0, 0), (1, 1, 0) and their like";
}

TEST(PowerSpectrum, OfRandomPlacesIsTheShotNoise) {
  std::mt19937_64 random{3};
  std::uniform_real_distribution<double> unit{0, 1};
  std::vector<Vector> places(20000);
  for (Vector& place : places) {
    place = box.low + 2 * Vector{unit(random), unit(random), unit(random)};
  }
  const Content content{places.size(), [&](std::size_t i) { return std::pair{places[i], 0.25}; }};
  const PowerSpectrum found = measure(content, 2);
  EXPECT_NEAR(found.shot_noise, volume / 20000, 1e-12);
  for (std::size_t i = 1; i < 5; ++i) {
    const double scatter = found.shot_noise / std::sqrt(static_cast<double>(found.waves[i]) / 2);
    EXPECT_NEAR(found.power[i], found.shot_noise, 4 * scatter) << i;
  }
  const PowerSpectrum finer = measure(content, 1, 32);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(found.power[i], finer.power[i], 0.01 * finer.power[i]) << "a finer mesh has the same long waves";
  }
}

TEST(PowerSpectrum, DoesNotDependOnRanks) {
  const PowerSpectrum alone = measure(wave(0.2), 1);
  for (const std::uint32_t ranks : {2U, 3U, 7U}) {
    const PowerSpectrum found = measure(wave(0.2), ranks);
    EXPECT_EQ(found.waves, alone.waves);
    EXPECT_NEAR(found.power[2], alone.power[2], 1e-12 * alone.power[2]) << ranks;
  }
}

TEST(PowerSpectrum, RefusesWhatHasNone) {
  EXPECT_THROW(measure({0, {}}, 2), Error);
  EXPECT_THROW(measure(wave(0.1), 1, 4), Error);
}

}  // namespace
}  // namespace plait::particles::power_spectrum_test
