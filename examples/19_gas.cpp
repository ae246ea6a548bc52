// SPDX-License-Identifier: Apache-2.0
// ranks: 2
// needs: plait::particles
// Gas and gravity with individual time steps: a cold sphere of gas collapses, is heated, and bounces.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <numbers>

#include "plait/particles.hpp"
#include "plait/plait.hpp"

using namespace plait::particles;
constexpr float pi = std::numbers::pi_v<float>, gamma_gas = 5.0F / 3, eta = 1.3F;

struct Gas {
  Particles store;
  Field<double> mass = store.add_field<double>("mass"), potential = store.add_field<double>("potential");
  Field<Vector> velocity = store.add_field<Vector>("velocity"), velocity_now = store.add_field<Vector>("velocity now");
  Field<Vector> gravity = store.add_field<Vector>("gravity"), push = store.add_field<Vector>("push of pressure");
  Field<float> length = store.add_field<float>("smoothing length"), density = store.add_field<float>("density");
  Field<float> energy = store.add_field<float>("energy"), energy_now = store.add_field<float>("energy now");
  Field<float> heating = store.add_field<float>("heating"), signal = store.add_field<float>("signal speed");
};

/// Wendland's kernel C2 of radius 2 h, and its derivative over r.
float kernel(float r, float h) {
  const float s = std::max(1 - r / (2 * h), 0.0F);
  return 21 / (16 * pi * h * h * h) * s * s * s * s * (2 * r / h + 1);
}
float slope(float r, float h) {
  const float s = std::max(1 - r / (2 * h), 0.0F);
  return -105 / (16 * pi * h * h * h * h * h) * s * s * s;
}
float sound_speed(float energy) {
  return std::sqrt(gamma_gas * (gamma_gas - 1) * std::max(energy, 0.0F));
}

void add_sphere(Gas& gas, int count) {  // of mass and radius 1; its density falls as 1/r
  for (int i = 0; i < count; ++i) {
    const double height = 2 * (i * 0.618034 - std::floor(i * 0.618034)) - 1, angle = 2.399963 * i * i;
    const double radius = std::sqrt((i + 0.5) / count), across = std::sqrt(1 - height * height);
    const std::size_t place = gas.store.add(1);
    gas.store.ids()[place] = place;
    gas.store.positions()[place] = radius * Vector{across * std::cos(angle), across * std::sin(angle), height};
    gas.store[gas.mass][place] = 1.0 / count;
    gas.store[gas.energy][place] = 0.05F;
    gas.store[gas.length][place] = eta * static_cast<float>(std::cbrt(2 * pi * radius / count));
  }
}

void add_density(System& system, Gas& gas) {
  const ShortRangeOptions search{
      .reach = gas.length, .reach_factor = 2, .targets = {gas.length}, .sources = {gas.mass}};
  system.add_pair_stage("density", search, {gas.density}, [&gas](const Block& block) {
    const auto lengths = block.targets[gas.length], masses = block.sources[gas.mass];
    for (std::size_t i = 0; i < block.targets.size(); ++i) {
      for (std::size_t j = 0; j < block.sources.size(); ++j) {
        const auto r = static_cast<float>(length(block.offset(i, j)));
        gas.store[gas.density][block.targets.places()[i]] += masses[j] * kernel(r, lengths[i]);
      }
    }
  });
}

/// Pressure and viscosity of one target and one source (Monaghan, 1997).
void push(Gas& gas, const Block& block, std::size_t i, std::size_t j) {
  const BlockParticles &to = block.targets, &from = block.sources;
  const auto of_to = to[gas.velocity_now], of_from = from[gas.velocity_now];
  const Vector d = block.offset(i, j),
               v{of_from.x[j] - of_to.x[i], of_from.y[j] - of_to.y[i], of_from.z[j] - of_to.z[i]};
  const auto r = static_cast<float>(length(d));
  const float rho_i = to[gas.density][i], rho_j = from[gas.density][j];
  const float u_i = to[gas.energy_now][i], u_j = from[gas.energy_now][j];
  const float closing = r > 0 ? static_cast<float>(-dot(d, v)) / r : 0;
  const float signal = sound_speed(u_i) + sound_speed(u_j) + 3 * std::max(closing, 0.0F);
  const float viscosity = closing > 0 ? signal * closing / (rho_i + rho_j) : 0;
  const float mine = (gamma_gas - 1) * u_i / rho_i, theirs = (gamma_gas - 1) * u_j / rho_j;
  const float weight = from[gas.mass][j] * (slope(r, to[gas.length][i]) + slope(r, from[gas.length][j])) / 2;
  const Particles::Index place = to.places()[i];
  gas.store[gas.push][place] += weight * (mine + theirs + viscosity) * d;
  gas.store[gas.heating][place] += weight * (mine + viscosity / 2) * static_cast<float>(dot(d, v));
  gas.store[gas.signal][place] = std::max(gas.store[gas.signal][place], weight < 0 ? signal : 0);
}

void add_pressure(System& system, Gas& gas) {
  const std::vector<BlockField> fields{gas.velocity_now, gas.density, gas.energy_now, gas.length, gas.mass};
  const ShortRangeOptions search{
      .search = Search::symmetric, .reach = gas.length, .reach_factor = 2, .targets = fields, .sources = fields};
  system.add_pair_stage("pressure", search, {gas.push, gas.heating, gas.signal}, [&gas](const Block& block) {
    for (std::size_t i = 0; i < block.targets.size(); ++i) {
      for (std::size_t j = 0; j < block.sources.size(); ++j) {
        push(gas, block, i, j);
      }
    }
  });
}

void add_motion(System& system, const Gas& gas) {
  Integrator motion{.velocity = gas.velocity, .predicted = {gas.velocity_now, gas.energy_now}, .forces = {gas.gravity}};
  motion.drift = [&gas](Particles& store, std::size_t first, std::size_t last, double time) {
    for (std::size_t i = first; i < last; ++i) {
      store.positions()[i] += time * store[gas.velocity][i];
      store[gas.velocity_now][i] += time * (store[gas.gravity][i] + store[gas.push][i]);
      store[gas.energy_now][i] += static_cast<float>(time) * store[gas.heating][i];
    }
  };
  motion.kick = [&gas](Particles& store, std::span<const Kick> kicks) {
    for (const auto& [i, time] : kicks) {
      store[gas.velocity][i] += time * (store[gas.gravity][i] + store[gas.push][i]);
      store[gas.energy][i] += static_cast<float>(time) * store[gas.heating][i];
    }
  };
  motion.settle = [&gas](Particles& store, std::span<const Kick> kicked) {
    for (const auto& [i, time] : kicked) {
      store[gas.velocity_now][i] = store[gas.velocity][i];
      store[gas.energy_now][i] = store[gas.energy][i];
      if (store[gas.density][i] > 0) {
        store[gas.length][i] = eta * std::cbrt(static_cast<float>(store[gas.mass][i]) / store[gas.density][i]);
      }
    }
  };
  system.integrate(motion);
  system.limit_steps_by(
      [&gas](const Particles& store, std::span<const Particles::Index> places, std::span<double> longest) {
        for (std::size_t k = 0; k < places.size(); ++k) {
          longest[k] = std::min<double>(longest[k], 0.3F * store[gas.length][places[k]] / store[gas.signal][places[k]]);
        }
      });
}

double total_energy(System& system, plait::Runtime& runtime, const Gas& gas) {
  system.synchronise();
  double sum = 0;
  for (std::size_t i = 0; i < gas.store.size(); ++i) {
    const Vector& v = gas.store[gas.velocity_now][i];
    sum += gas.store[gas.mass][i] * (dot(v, v) / 2 + gas.store[gas.energy_now][i] + gas.store[gas.potential][i] / 2);
  }
  double total = 0;
  for (const double part : plait::all_gather_values(runtime.messages(), sum)) {
    total += part;
  }
  return total;
}

int main(int argc, char** argv) {
  const plait::MpiSession mpi{argc, argv};
  plait::Runtime runtime{MPI_COMM_WORLD};
  constexpr int count = 800;
  Gas gas;
  if (runtime.self() == plait::Rank{0}) {
    add_sphere(gas, count);
  }
  System system{runtime.messages(), runtime.scheduler(), gas.store};
  system.add_long_range({.charge = gas.mass,
                         .acceleration = gas.gravity,
                         .potential = gas.potential,
                         .softening = 0.02,
                         .velocity = gas.velocity_now});
  add_density(system, gas);
  add_pressure(system, gas);
  add_motion(system, gas);
  system.take_steps({.lengths = StepLengths::individual, .end = 1.25});  // or StepLengths::equal
  system.update();
  const double before = total_energy(system, runtime, gas);
  double updated = 0, steps = 0;
  for (; !system.is_over(); ++steps) {
    updated += static_cast<double>(system.step().updated);
  }
  if (const double after = total_energy(system, runtime, gas); runtime.self() == plait::Rank{0}) {
    std::cout << "energy kept within 1 %: " << (std::abs(after / before - 1) < 0.01 ? "yes" : "no") << '\n'
              << "less than half of the updates of equal steps: " << (updated < steps * count / 2 ? "yes" : "no")
              << '\n';
  }
}
