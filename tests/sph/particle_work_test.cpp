// SPDX-License-Identifier: Apache-2.0
#include "sph/particle_work.hpp"

#include <cmath>
#include <string>

#include <gtest/gtest.h>

namespace sph::particle_work_test {
namespace {

class ParticleWork : public testing::Test {
 protected:
  ParticleWork() {
    store_.add(2);
    store_.ids()[0] = 41;
    store_.ids()[1] = 42;
    const Gas gas = this->gas();
    for (std::size_t i = 0; i < 2; ++i) {
      gas.mass[i] = 1;
      gas.smoothing[i] = 0.1F;
      gas.energy_now[i] = gas.energy[i] = 1;
      gas.density[i] = 1;
      gas.signal_speed[i] = 2;
    }
  }
  Gas gas() { return {store_, fields_}; }
  template <class Function>
  std::string error_of(Function function) {
    try {
      function();
    } catch (const plait::Error& error) {
      return error.what();
    }
    return "";
  }

  Particles store_;
  GasFields fields_{store_};
  Scheme scheme_;
};

/// The sums of a continuum with a density n around a particle with smoothing length h.
DensitySums continuum(float number, float) {
  return {.number = number, .density = number};
}

/// The same, in a flow that diverges evenly.
DensitySums evenly(float divergence) {
  const float part = divergence / 3;
  return {.number = 1, .density = 1, .flow = {part, 0, 0, 0, part, 0, 0, 0, part}, .places = {1, 0, 0, 1, 0, 1}};
}

TEST_F(ParticleWork, smoothing_length_comes_to_eta_mean_distances) {
  constexpr float number = 8000;
  SmoothingSearch search;
  while (improve_smoothing(gas(), 0, continuum(number, gas().smoothing[0]), scheme_, search) == Smoothing::again) {
  }
  EXPECT_NEAR(gas().smoothing[0], scheme_.eta / 20, 2e-4 * scheme_.eta / 20);
}

TEST_F(ParticleWork, smoothing_length_of_a_lonely_particle_is_the_largest) {
  scheme_.smoothing_max = 3;
  SmoothingSearch search;
  const auto own = [&] { return continuum(1e-3F, 0); };
  while (improve_smoothing(gas(), 0, own(), scheme_, search) == Smoothing::again) {
  }
  EXPECT_FLOAT_EQ(gas().smoothing[0], 3);
}

TEST_F(ParticleWork, a_smoothing_length_of_zero_is_told_with_the_particle) {
  gas().smoothing[1] = 0;
  SmoothingSearch search;
  const std::string error = error_of([&] { (void)improve_smoothing(gas(), 1, continuum(1, 0), scheme_, search); });
  EXPECT_NE(error.find("particle 42"), std::string::npos) << error;
  EXPECT_NE(error.find("smoothing length is 0"), std::string::npos) << error;
}

TEST_F(ParticleWork, a_smoothing_length_that_never_settles_is_told_with_the_particle) {
  SmoothingSearch search;
  const std::string error = error_of([&] {
    while (improve_smoothing(gas(), 0, continuum(0, 0), scheme_, search) == Smoothing::again) {
    }
  });
  EXPECT_NE(error.find("particle 41"), std::string::npos) << error;
}

TEST_F(ParticleWork, a_time_step_that_goes_to_zero_is_told_with_particle_and_reason) {
  gas().acceleration[1] = {1e30, 0, 0};
  const std::string error = error_of([&] { (void)time_step(gas(), 1, scheme_, 1e-9); });
  EXPECT_NE(error.find("particle 42"), std::string::npos) << error;
  EXPECT_NE(error.find("acceleration is too large"), std::string::npos) << error;
}

TEST_F(ParticleWork, a_time_step_that_is_no_number_is_told) {
  gas().signal_speed[0] = std::nanf("");
  gas().energy_now[0] = std::nanf("");
  EXPECT_NE(error_of([&] { (void)time_step(gas(), 0, scheme_, 1e-9); }).find("particle 41"), std::string::npos);
}

TEST_F(ParticleWork, time_step_is_courants) {
  gas().signal_speed[0] = 5;
  EXPECT_NEAR(time_step(gas(), 0, scheme_, 0), 2 * 0.1 * 1.825742 * 0.1 / 5, 1e-6);
}

TEST_F(ParticleWork, expansion_leaves_some_energy) {
  gas().energy_rate[0] = -1000;
  kick(gas(), 0, scheme_, 1);
  EXPECT_FLOAT_EQ(gas().energy[0], 0.5F);
  drift(gas(), 0, scheme_, 1);
  EXPECT_FLOAT_EQ(gas().energy_now[0], 0.5F);
}

TEST_F(ParticleWork, drift_predicts_density_and_smoothing_length_of_a_compression) {
  gas().smoothing_rate[0] = -0.1F;  // of 0.1: shrinks as exp(-t)
  gas().density_rate[0] = 3;        // of 1: grows as exp(3 t)
  drift(gas(), 0, scheme_, 0.5);
  EXPECT_NEAR(gas().smoothing[0], 0.1 * std::exp(-0.5), 1e-6);
  EXPECT_NEAR(gas().density[0], std::exp(1.5), 1e-5);
}

TEST_F(ParticleWork, viscosity_rises_where_the_flow_converges_faster) {
  const Gas g = gas();
  for (const SchemeKind kind : {SchemeKind::modern, SchemeKind::reconstructed}) {
    scheme_.kind = kind;
    const ShockViscosity viscosity = shock_viscosity(scheme_);
    for (std::size_t i = 0; i < 2; ++i) {
      g.age[i] = 0.01F;
      g.divergence[i] = g.alpha[i] = 0;
    }
    finish_density(g, 0, evenly(-50), scheme_);  // from 0 to -50 in 0.01
    finish_density(g, 1, evenly(50), scheme_);
    EXPECT_GT(g.alpha[0], viscosity.max / 2);
    EXPECT_LE(g.alpha[0], viscosity.max);
    EXPECT_EQ(g.alpha[1], viscosity.min);
  }
}

TEST_F(ParticleWork, gas_that_falls_freely_has_no_more_viscosity_than_gas_at_rest) {
  const Gas g = gas();
  // Without forces an even flow of divergence d becomes d / (1 + d t / 3).
  const float age = 0.01F;
  g.divergence[0] = -30;
  g.age[0] = age;
  finish_density(g, 0, evenly(-30 / (1 - 10 * age)), scheme_);
  EXPECT_NEAR(g.alpha[0], shock_viscosity(scheme_).min, 1e-6);
  scheme_.signs = ShockSigns::strong;
  g.alpha[1] = 0;
  g.divergence[1] = -30;
  g.age[1] = age;
  finish_density(g, 1, evenly(-30 / (1 - 10 * age)), scheme_);
  EXPECT_GT(g.alpha[1], 0.1);
}

TEST_F(ParticleWork, viscosity_decays_to_its_least_strength) {
  const Gas g = gas();
  g.alpha[0] = 1;
  g.age[0] = 0.1F;
  finish_density(g, 0, evenly(0), scheme_);
  EXPECT_LT(g.alpha[0], 1);
  g.alpha[0] = 1;
  g.age[0] = 1e3F;
  finish_density(g, 0, evenly(0), scheme_);
  EXPECT_NEAR(g.alpha[0], shock_viscosity(scheme_).min, 1e-6);
}

}  // namespace
}  // namespace sph::particle_work_test
