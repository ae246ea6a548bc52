// SPDX-License-Identifier: Apache-2.0
// ranks: 2
// needs: plait::particles
// A new interaction between particles: soft spheres in a periodic box, which repel each other when they overlap.
#include <cmath>
#include <iostream>
#include <numeric>

#include "plait/particles.hpp"
#include "plait/plait.hpp"

using namespace plait::particles;

int main(int argc, char** argv) {
  const plait::MpiSession mpi{argc, argv};
  plait::Runtime runtime{MPI_COMM_WORLD};
  Particles store;
  const auto velocity = store.add_field<Vector>("velocity");
  const auto force = store.add_field<Vector>("force");
  const auto energy = store.add_field<double>("energy");
  const auto reach = store.add_field<float>("reach");
  for (int i = 0; i < 1000 && runtime.self() == plait::Rank{0}; ++i) {  // the first step brings them to their ranks
    const std::size_t place = store.add(1);
    store.ids()[place] = place;
    store.positions()[place] = 0.9 * Vector{i % 10 + 0.1 * std::sin(i), i / 10 % 10 + 0.5, i / 100 + 0.5};
    store[reach][place] = 1;
  }
  const Space box{.root = {{0, 0, 0}, {9, 9, 9}}, .periodic = {true, true, true}};
  System system{runtime.messages(), runtime.scheduler(), store, {.space = box}};

  // The interaction. Any worker calls it, with some targets and all particles that may be near them.
  system.add_short_range({.reach = reach}, {force, energy}, [&](const Block& block) {
    const BlockParticles &to = block.targets, &from = block.sources;
    for (std::size_t i = 0; i < to.size(); ++i) {
      for (std::size_t j = 0; j < from.size(); ++j) {
        const Vector d{to.x()[i] - from.x()[j], to.y()[i] - from.y()[j], to.z()[i] - from.z()[j]};
        const double r = length(d);
        if (r > 0 && r < 1) {  // 0: the target itself
          store[force][to.places()[i]] += (1 - r) / r * d;
          store[energy][to.places()[i]] += (1 - r) * (1 - r) / 4;  // half of the pair's
        }
      }
    }
  });

  add_leapfrog(system, {.velocity = velocity, .acceleration = force, .time_step = 0.02});

  const auto total_energy = [&] {
    double sum = 0;
    for (std::size_t i = 0; i < store.size(); ++i) {
      sum += store[energy][i] + dot(store[velocity][i], store[velocity][i]) / 2;
    }
    const auto parts = plait::all_gather_values(runtime.messages(), sum);
    return std::accumulate(parts.begin(), parts.end(), 0.0);
  };
  system.update();
  const double before = total_energy();
  for (int step = 0; step < 200; ++step) {
    system.step();
  }
  if (const double after = total_energy(); runtime.self() == plait::Rank{0}) {
    std::cout << "energy kept within 1e-3: " << (std::abs(after / before - 1) < 1e-3 ? "yes" : "no") << '\n';
  }
}
