// SPDX-License-Identifier: Apache-2.0
// ranks: 2
// needs: plait::particles
// Gravity among the particles of a cold sphere, which begins to collapse: a tree code, with a kernel of its own.
#include <array>
#include <cmath>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <span>

#include "plait/particles.hpp"
#include "plait/plait.hpp"

using namespace plait::particles;

namespace {

constexpr std::size_t count = 1024;
constexpr double softening = 1.0 / 32;

void pull(const KernelWork& work, const CellSpan& from) {
  const TargetSpan& to = work.targets;
  const auto softening2 = static_cast<float>(work.options.softening2);
  for (std::size_t i = 0; i < to.count; ++i) {
    float ax = 0;
    float ay = 0;
    float az = 0;
    float p = 0;
    for (std::size_t j = 0; j < from.length; ++j) {
      const float dx = from.x[j] - to.near_x[i];
      const float dy = from.y[j] - to.near_y[i];
      const float dz = from.z[j] - to.near_z[i];
      const float r = 1 / std::sqrt(dx * dx + dy * dy + dz * dz + softening2);
      const float mr3 = from.mass[j] * r * r * r;
      ax += mr3 * dx;
      ay += mr3 * dy;
      az += mr3 * dz;
      p -= from.mass[j] * r;
    }
    to.pulls[i].x += ax;
    to.pulls[i].y += ay;
    to.pulls[i].z += az;
    to.pulls[i].potential += p;
  }
}

// A homogeneous sphere of radius 3 and mass 1, at rest.
void add_sphere(Particles& store, Field<double> mass) {
  store.add(count);
  std::uint32_t random = 1;
  const auto next = [&random] {
    random = random * 1664525 + 1013904223;
    return 6 * (random / 4294967296.0) - 3;
  };
  for (std::size_t i = 0; i < count; ++i) {
    Vector& place = store.positions()[i];
    do {
      place.x = next();
      place.y = next();
      place.z = next();
    } while (dot(place, place) >= 9);
    store.ids()[i] = i;
    store[mass][i] = 1.0 / count;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const plait::MpiSession mpi{argc, argv};
  plait::Runtime runtime{MPI_COMM_WORLD};
  Particles store;
  const auto mass = store.add_field<double>("mass");
  const auto velocity = store.add_field<Vector>("velocity");
  const auto acceleration = store.add_field<Vector>("acceleration");
  const auto potential = store.add_field<double>("potential");
  if (runtime.self() == plait::Rank{0}) {
    add_sphere(store, mass);  // the update sends particles to their ranks
  }
  System system{runtime.messages(), runtime.scheduler(), store};
  system.add_long_range({.charge = mass,
                         .acceleration = acceleration,
                         .potential = potential,
                         .order = Order::monopole,
                         .precision = Precision::mixed,
                         .softening = softening,
                         // Any worker calls it, with some targets, and the bodies and cells that act on them.
                         .kernel = [](const KernelWork& work) {
                           pull(work, work.near_bodies);
                           pull(work, work.cells);
                         }});
  add_leapfrog(system, {.velocity = velocity, .acceleration = acceleration, .time_step = 1.0 / 128});

  // The energy and the mean square radius of all ranks' particles. The kernel has added the potential of each particle
  // at its own centre, which does not count.
  const auto energy_and_size = [&] {
    std::array<double, 2> sums{};
    for (std::size_t i = 0; i < store.size(); ++i) {
      const Vector& v = store[velocity][i];
      const double m = store[mass][i];
      sums[0] += m * (dot(v, v) + store[potential][i] + m / softening) / 2;
      sums[1] += m * dot(store.positions()[i], store.positions()[i]);
    }
    plait::all_reduce(plait::comm::Group{runtime.messages()}, std::span{sums}).wait();
    return sums;
  };
  system.update();
  const auto before = energy_and_size();
  for (int step = 0; step < 256; ++step) {
    system.step();
  }
  if (const auto after = energy_and_size(); runtime.self() == plait::Rank{0}) {
    std::cout << "energy kept within 1e-4: " << (std::abs(after[0] / before[0] - 1) < 1e-4 ? "yes" : "no") << '\n';
    std::cout << "radius: " << std::fixed << std::setprecision(3) << std::sqrt(5 * after[1] / 3) << '\n';
  }
}
