// SPDX-License-Identifier: Apache-2.0
#include "sph/glass.hpp"

#include "plait/base/random.hpp"

#include "sph/plain_model.hpp"

namespace sph {

std::vector<Vector> make_glass(std::uint32_t edge, std::uint32_t steps) {
  Problem problem;
  problem.space.root = {{0, 0, 0}, {1, 1, 1}};
  problem.space.periodic = {true, true, true};
  problem.scheme.kind = SchemeKind::minimal;
  problem.scheme.courant = 0.3F;
  const double spacing = 1.0 / edge;
  Particles store;
  const GasFields fields{store};
  store.add(std::size_t{edge} * edge * edge);
  Gas gas{store, fields};
  plait::Random random{1};
  for (std::size_t i = 0; i < gas.count; ++i) {
    const auto along = [&](std::size_t cell) {
      return (static_cast<double>(cell) + 0.5 + 0.8 * (random.unit() - 0.5)) * spacing;
    };
    store.ids()[i] = i + 1;
    gas.position[i].x = along(i % edge);
    gas.position[i].y = along(i / edge % edge);
    gas.position[i].z = along(i / edge / edge);
    gas.mass[i] = 1.0 / static_cast<double>(gas.count);
    gas.energy[i] = gas.energy_now[i] = 1;
    gas.smoothing[i] = static_cast<float>(1.2 * spacing);
  }
  PlainModel model{store, fields, problem};
  for (std::uint32_t step = 0; step < steps; ++step) {
    (void)model.step(1e9);
    for (std::size_t i = 0; i < gas.count; ++i) {
      gas.velocity[i] = gas.velocity_now[i] = 0.8 * gas.velocity[i];
      gas.energy[i] = gas.energy_now[i] = 1;
    }
  }
  return {store.positions().begin(), store.positions().end()};
}

}  // namespace sph
