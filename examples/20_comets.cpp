// SPDX-License-Identifier: Apache-2.0
// ranks: 2
// needs: plait::particles
// Comets on eccentric orbits around a star. Each takes time steps of its own: short ones near the star only. It counts
// them beside the steps of a run in which all comets take the shortest step of any.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <numbers>
#include <span>

#include "plait/particles.hpp"
#include "plait/plait.hpp"

using namespace plait::particles;

namespace {

constexpr int comet_count = 16;
constexpr double comet_mass = 1e-12;  // that of the star is 1
constexpr double end = 20;

struct Comets {
  Particles store;
  Field<double> mass = store.add_field<double>("mass");
  Field<Vector> velocity = store.add_field<Vector>("velocity");
  Field<Vector> acceleration = store.add_field<Vector>("acceleration");
  Field<double> potential = store.add_field<double>("potential");

  /// The star has the id 0. A comet begins where it is farthest away from it.
  void add(std::uint64_t id) {
    const double axis = 1 + 0.125 * static_cast<double>(id);
    const double eccentricity = id % 2 == 0 ? 0.5 : 0.75;
    const double angle = 2 * std::numbers::pi * static_cast<double>(id) / comet_count;
    const double distance = id == 0 ? 0 : axis * (1 + eccentricity);
    const double speed = id == 0 ? 0 : std::sqrt((1 - eccentricity) / distance);
    const std::size_t at = store.add(1);
    store.ids()[at] = id;
    store[mass][at] = id == 0 ? 1 : comet_mass;
    store.positions()[at] = {distance * std::cos(angle), distance * std::sin(angle), 0};
    store[velocity][at] = {-speed * std::sin(angle), speed * std::cos(angle), 0};
  }

  /// The largest relative error of the energy of a comet, -1 / (2 axis).
  [[nodiscard]] double energy_error() const {
    double error = 0;
    for (std::size_t i = 0; i < store.size(); ++i) {
      if (store.ids()[i] > 0) {
        const double axis = 1 + 0.125 * static_cast<double>(store.ids()[i]);
        const Vector v = store[velocity][i];
        error = std::max(error, std::abs(2 * axis * (dot(v, v) / 2 + store[potential][i]) + 1));
      }
    }
    return error;
  }
};

struct Outcome {
  std::uint64_t updates = 0;
  double energy_error = 0;
};

Outcome run(plait::Runtime& runtime, StepLengths lengths) {
  Comets comets;
  for (std::uint64_t id = 0; runtime.self().value() == 0 && id <= comet_count; ++id) {
    comets.add(id);
  }
  System system{runtime.messages(), runtime.scheduler(), comets.store};
  system.add_long_range({.charge = comets.mass,
                         .acceleration = comets.acceleration,
                         .potential = comets.potential,
                         .theta = 0,
                         .velocity = comets.velocity});
  system.integrate(leapfrog({.velocity = comets.velocity, .acceleration = comets.acceleration}));
  system.limit_steps_by(
      [&](const Particles& store, std::span<const Particles::Index> places, std::span<double> longest) {
        for (std::size_t k = 0; k < places.size(); ++k) {
          const double pull = length(store[comets.acceleration][places[k]]);  // 1 / r^2
          longest[k] = std::min(longest[k], 0.02 / std::pow(pull, 0.75));
        }
      });
  system.take_steps({.lengths = lengths, .end = end, .step_max = 0.25});
  system.update();
  Outcome outcome;
  while (!system.is_over()) {
    const StepResult step = system.step();
    outcome.updates += lengths == StepLengths::individual ? step.updated : comet_count + 1;
  }
  system.synchronise();
  outcome.energy_error = comets.energy_error();
  plait::comm::all_reduce(
      plait::comm::Group{runtime.messages()}, std::span{&outcome.energy_error, 1}, plait::comm::Maximum{})
      .wait();
  return outcome;
}

}  // namespace

int main(int argc, char** argv) {
  const plait::MpiSession mpi{argc, argv};
  plait::Runtime runtime{MPI_COMM_WORLD};
  const Outcome own = run(runtime, StepLengths::individual);
  const Outcome equal = run(runtime, StepLengths::equal);
  if (runtime.self().value() == 0) {
    std::printf("energies kept within 1e-3: %s\n",
                std::max(own.energy_error, equal.energy_error) < 1e-3 ? "yes" : "no");
    std::printf("updates of equal steps for one of individual steps: %.1f\n",
                static_cast<double>(equal.updates) / static_cast<double>(own.updates));
  }
  return 0;
}
