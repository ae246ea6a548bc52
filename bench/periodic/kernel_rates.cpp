// SPDX-License-Identifier: Apache-2.0
#include "periodic/kernel_rates.hpp"

#include <functional>
#include <random>

#include "plait/particle_mesh/detail/split_kernels.hpp"
#include "plait/particle_mesh/force_split.hpp"
#include "plait/particles/trees/kernels/kernel.hpp"

#include "support/stopwatch.hpp"

namespace bench {

namespace {

using namespace plait::particles;

constexpr std::size_t entries = 2048;
constexpr std::size_t targets = 64;

// Differences, their squares, the root with its refinement, and sums are 18 with the force. A quadrupole takes 9 for
// its product with the distance, and 14 for the rest.
constexpr double open_monopole = 18;
constexpr double open_quadrupole = open_monopole + 23;
// Beside 18 and the two polynomials: softening, the argument of the polynomials, and two for differences. A quadrupole
// takes 9 for its product with the distance, and 22 for the rest.
constexpr double short_body = 18 + 2 * ForceSplit::single_degree - 1 + 4;
constexpr double short_quadrupole = short_body + 31;

struct Lists {
  CellList cells;
  std::vector<double> x, y, z;
  std::vector<float> near_x, near_y, near_z;
  std::vector<Pull> pulls = std::vector<Pull>(targets);

  Lists() {
    std::mt19937_64 random{3};
    std::uniform_real_distribution<double> uniform{-1, 1};
    cells.reserve(entries);
    for (auto* values : {&cells.x,
                         &cells.y,
                         &cells.z,
                         &cells.mass,
                         &cells.xx,
                         &cells.xy,
                         &cells.xz,
                         &cells.yy,
                         &cells.yz,
                         &cells.trace}) {
      for (std::size_t i = 0; i < entries; ++i) {
        (*values)[i] = static_cast<float>(uniform(random));
      }
    }
    for (std::size_t i = 0; i < targets; ++i) {
      for (auto* values : {&x, &y, &z}) {
        values->push_back(0.2 * uniform(random));
      }
    }
    near_x.assign(x.begin(), x.end());
    near_y.assign(y.begin(), y.end());
    near_z.assign(z.begin(), z.end());
  }
  TargetSpan span() {
    return {x.data(), y.data(), z.data(), near_x.data(), near_y.data(), near_z.data(), targets, pulls.data()};
  }
};

std::vector<double> rates_of(const std::function<void()>& kernel) {
  constexpr int repetitions = 20;
  constexpr int calls = 20;
  std::vector<double> rates;
  kernel();
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    const Stopwatch watch;
    for (int call = 0; call < calls; ++call) {
      kernel();
    }
    rates.push_back(static_cast<double>(calls * entries * targets) / watch.seconds());
  }
  return rates;
}

}  // namespace

std::vector<KernelRate> kernel_rates() {
  Lists lists;
  const CellSpan list = lists.cells.pad(entries);
  const TargetSpan to = lists.span();
  const KernelOptions open{.softening2 = 1e-8};
  const KernelOptions periodic{.softening2 = 1e-8, .cutoff2 = 1, .period = {4, 4, 4}};
  const ForceSplit split{1.0 / ForceSplit::cutoff_max, 1};
  const Kernels& kernels = best_kernels();
  return {
      {"open box: bodies", rates_of([&] { kernels.near_bodies(to, list, open); }), open_monopole},
      {"open box: quadrupoles", rates_of([&] { kernels.quadrupoles(to, list, open); }), open_quadrupole},
      {"short range: bodies",
       rates_of([&] { detail::sum_short_range({to, {}, list, {}, periodic}, split, Order::quadrupole); }),
       short_body},
      {"short range: quadrupoles",
       rates_of([&] { detail::sum_short_range({to, {}, {}, list, periodic}, split, Order::quadrupole); }),
       short_quadrupole},
  };
}

}  // namespace bench
