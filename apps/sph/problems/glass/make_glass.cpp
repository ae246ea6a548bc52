// SPDX-License-Identifier: Apache-2.0
// sph_make_glass > glass_points.inc: relaxes the points of a glass, and prints them as glass.cpp includes them.
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "plait/base/random.hpp"

#include "sph/plain_model.hpp"
#include "sph/problems/glass/glass.hpp"

namespace {

using sph::glass_edge;

constexpr std::uint32_t steps = 150;

/// The points begin on a lattice from which they are displaced at random, and repel each other in a viscous fluid.
void relax(sph::Particles& store) {
  sph::Problem problem;
  problem.space.root = {{0, 0, 0}, {1, 1, 1}};
  problem.space.periodic = {true, true, true};
  problem.scheme.kind = sph::SchemeKind::minimal;
  problem.scheme.courant = 0.3F;
  const double spacing = 1.0 / glass_edge;
  const sph::GasFields fields{store};
  store.add(std::size_t{glass_edge} * glass_edge * glass_edge);
  sph::Gas gas{store, fields};
  plait::Random random{1};
  for (std::size_t i = 0; i < gas.count; ++i) {
    const auto along = [&](std::size_t cell) {
      return (static_cast<double>(cell) + 0.5 + 0.8 * (random.unit() - 0.5)) * spacing;
    };
    store.ids()[i] = i + 1;
    gas.position[i].x = along(i % glass_edge);
    gas.position[i].y = along(i / glass_edge % glass_edge);
    gas.position[i].z = along(i / glass_edge / glass_edge);
    gas.mass[i] = 1.0 / static_cast<double>(gas.count);
    gas.energy[i] = gas.energy_now[i] = 1;
    gas.smoothing[i] = static_cast<float>(1.2 * spacing);
  }
  sph::PlainModel model{store, fields, problem};
  for (std::uint32_t step = 0; step < steps; ++step) {
    (void)model.step(1e9);
    for (std::size_t i = 0; i < gas.count; ++i) {
      gas.velocity[i] = gas.velocity_now[i] = 0.8 * gas.velocity[i];
      gas.energy[i] = gas.energy_now[i] = 1;
    }
  }
}

std::uint16_t rounded(double coordinate) {
  return static_cast<std::uint16_t>(std::lround(coordinate * sph::glass_unit) % std::lround(sph::glass_unit));
}

}  // namespace

int main() {
  constexpr std::size_t points_a_line = 5;
  sph::Particles store;
  relax(store);
  fmt::print("// Made by sph_make_glass.");
  std::size_t count = 0;
  for (const sph::Vector& point : store.positions()) {
    fmt::print("{}{{{}, {}, {}}},",
               count++ % points_a_line == 0 ? "\n" : " ",
               rounded(point.x),
               rounded(point.y),
               rounded(point.z));
  }
  fmt::print("\n");
}
