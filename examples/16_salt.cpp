// SPDX-License-Identifier: Apache-2.0
// ranks: 2
// needs: plait::particle-mesh
// A crystal of salt in a periodic box: ions of charges 1 and -1 attract each other by all their images, and repel their
// neighbours. It vibrates, is heated, and melts. Lengths are in distances of neighbours, energies in Coulomb's of two.
#include <cmath>
#include <complex>
#include <iostream>
#include <numbers>
#include <numeric>
#include <random>

#include "plait/particle_mesh.hpp"
#include "plait/particles.hpp"
#include "plait/plait.hpp"

using namespace plait::particles;

constexpr int edge = 8;
constexpr double reach_of_repulsion = 2;
constexpr double madelung = 1.747564594633;

/// Born's repulsion, b / r^8, with which neighbours are at distance 1; force and potential are 0 from the reach on.
struct Repulsion {
  double energy, force_over_r;

  explicit Repulsion(double r) {
    const double b = madelung / 48;
    const auto force = [&](double at) { return 8 * b / std::pow(at, 9); };
    const auto potential = [&](double at) { return b / std::pow(at, 8) + at * force(reach_of_repulsion); };
    energy = potential(r) - potential(reach_of_repulsion);
    force_over_r = (force(r) - force(reach_of_repulsion)) / r;
  }
};

struct Ions {
  Particles store;
  Field<double> charge = store.add_field<double>("charge");
  Field<Vector> velocity = store.add_field<Vector>("velocity");
  Field<Vector> force = store.add_field<Vector>("force");  // masses are 1
  Field<Vector> electric = store.add_field<Vector>("electric field");
  Field<double> potential = store.add_field<double>("potential");
  Field<double> repulsion = store.add_field<double>("repulsion");
  Field<float> reach = store.add_field<float>("reach");

  void add_crystal() {
    std::mt19937_64 random{1};
    std::normal_distribution<double> normal{0, 0.14};
    for (int i = 0; i < edge * edge * edge; ++i) {
      const int x = i % edge, y = i / edge % edge, z = i / edge / edge;
      const std::size_t place = store.add(1);
      store.ids()[place] = place;
      store.positions()[place] = {x + 0.3, y + 0.3, z + 0.3};
      store[charge][place] = (x + y + z) % 2 == 0 ? 1 : -1;
      store[velocity][place] = {normal(random), normal(random), normal(random)};
      store[reach][place] = reach_of_repulsion;
    }
  }
};

void add_forces(plait::Runtime& runtime, System& system, Ions& ions, const Box& box) {
  system.add(make_periodic_gravity(runtime.messages(),
                                   runtime.scheduler(),
                                   {.tree = {.charge = ions.charge,
                                             .acceleration = ions.electric,
                                             .potential = ions.potential,
                                             .theta = 0.3,
                                             .coupling = -1},
                                    .box = box,
                                    .mesh = {2 * edge, 2 * edge, 2 * edge}}));
  system.add_short_range({.reach = ions.reach}, {ions.force, ions.repulsion}, [&](const Block& block) {
    const BlockParticles &to = block.targets, &from = block.sources;
    for (std::size_t i = 0; i < to.size(); ++i) {
      for (std::size_t j = 0; j < from.size(); ++j) {
        const Vector d{to.x()[i] - from.x()[j], to.y()[i] - from.y()[j], to.z()[i] - from.z()[j]};
        const double r = length(d);
        if (r > 0 && r < reach_of_repulsion) {  // 0: the target itself
          const Repulsion pair{r};
          ions.store[ions.force][to.places()[i]] += pair.force_over_r * d;
          ions.store[ions.repulsion][to.places()[i]] += pair.energy / 2;  // half of the pair's
        }
      }
    }
  });
  system.when_summed([&ions] {
    for (std::size_t i = 0; i < ions.store.size(); ++i) {
      ions.store[ions.force][i] += ions.store[ions.charge][i] * ions.store[ions.electric][i];
    }
  });
}

/// Means of all ions on all ranks.
struct Means {
  double coulomb = 0, repulsion = 0, kinetic = 0;
  std::complex<double> order;  // of absolute value 1 in a crystal, and near 0 in a melt
  double energy() const { return coulomb + repulsion + kinetic; }
};

Means means_of(plait::Runtime& runtime, const Ions& ions) {
  Means own;
  constexpr double count = edge * edge * edge;
  for (std::size_t i = 0; i < ions.store.size(); ++i) {
    const Vector& place = ions.store.positions()[i];
    const double charge = ions.store[ions.charge][i];
    own.coulomb += charge * ions.store[ions.potential][i] / 2 / count;
    own.repulsion += ions.store[ions.repulsion][i] / count;
    own.kinetic += dot(ions.store[ions.velocity][i], ions.store[ions.velocity][i]) / 2 / count;
    own.order += std::polar(charge / count, std::numbers::pi * (place.x + place.y + place.z));
  }
  const auto parts = plait::all_gather_values(runtime.messages(), own);
  return std::accumulate(parts.begin(), parts.end(), Means{}, [](const Means& a, const Means& b) {
    return Means{a.coulomb + b.coulomb, a.repulsion + b.repulsion, a.kinetic + b.kinetic, a.order + b.order};
  });
}

int main(int argc, char** argv) {
  const plait::MpiSession mpi{argc, argv};
  plait::Runtime runtime{MPI_COMM_WORLD};
  Ions ions;
  if (runtime.self() == plait::Rank{0}) {
    ions.add_crystal();  // the update sends them to their ranks
  }
  const Box box{{0, 0, 0}, {edge, edge, edge}};
  System system{runtime.messages(), runtime.scheduler(), ions.store, {.space = {box, {true, true, true}}}};
  add_forces(runtime, system, ions, box);
  add_leapfrog(system, {.velocity = ions.velocity, .acceleration = ions.force, .time_step = 0.01});
  const auto print = [&](const char* what, bool is_so) {
    if (runtime.self() == plait::Rank{0}) {
      std::cout << what << ": " << (is_so ? "yes" : "no") << '\n';
    }
  };
  system.update();
  print("Madelung's constant within 1e-4", std::abs(-2 * means_of(runtime, ions).coulomb / madelung - 1) < 1e-4);
  const auto run = [&](int steps) {
    const double before = means_of(runtime, ions).energy();
    for (int step = 0; step < steps; ++step) {
      system.step();
    }
    const Means after = means_of(runtime, ions);
    print("energy kept within 2e-4", std::abs(after.energy() / before - 1) < 2e-4);
    return std::abs(after.order);
  };
  print("a crystal that vibrates", run(300) > 0.8);
  for (Vector& velocity : ions.store[ions.velocity]) {
    velocity = 4 * velocity;
  }
  print("a melt after heating", run(600) < 0.2);
}
