// SPDX-License-Identifier: Apache-2.0
#include "sph/problem.hpp"

#include "support/choice.hpp"

namespace sph {

namespace {

constexpr std::array kinds{
    ProblemKind{"sod", "shock tube, two states of gas that meet (exact: Riemann)", 84, make_sod},
    ProblemKind{
        "sedov", "explosion at a point, needs time steps of very different lengths (exact: Sedov)", 60, make_sedov},
    ProblemKind{"gresho", "vortex that keeps turning as it does", 60, make_gresho},
    ProblemKind{"noh", "cold gas that falls into a point and piles up 64 times as dense (exact: Noh)", 60, make_noh},
    ProblemKind{"kelvin-helmholtz",
                "layers of gas that slide along each other (computed on a grid)",
                120,
                make_kelvin_helmholtz},
    ProblemKind{"square", "dense gas at rest that keeps its corners", 48, make_square},
    ProblemKind{"blob", "cold cloud in a hot wind that shreds it", 36, make_blob},
    ProblemKind{"evrard", "cold gas that collapses by its own gravity and bounces", 48, make_evrard},
    ProblemKind{"plummer", "sphere of stars in equilibrium; thousands of stars", 32, make_plummer},
    ProblemKind{"kepler-ring", "ring of light bodies on circles about a heavy one", 500, make_kepler_ring},
    ProblemKind{"two-bodies", "two stars on ellipses about each other", 1, make_two_bodies},
};

}  // namespace

std::span<const ProblemKind> problem_kinds() {
  return kinds;
}

Problem make_problem(const std::string& name, const ProblemOptions& options) {
  const ProblemKind& kind = app::find_named("--problem", name, kinds);
  ProblemOptions chosen = options;
  chosen.resolution = options.resolution == 0 ? kind.resolution : options.resolution;
  Problem problem = kind.make(chosen);
  problem.name = name;
  problem.origin = -1 * problem.space.root.low;
  problem.space.root = {{}, problem.space.root.high - problem.space.root.low};
  return problem;
}

void set_subsonic(Scheme& scheme) {
  scheme.kernel = KernelKind::wendland_c4;
  scheme.eta = 1.8F;  // 263 neighbours
  scheme.courant = 0.2F;
  scheme.signs = ShockSigns::strong;
}

void add_particles(
    const Problem& problem, Particles& store, const GasFields& fields, std::uint32_t rank, std::uint32_t ranks) {
  std::uint64_t total = 0;
  problem.visit([&](const Sample&) { ++total; });
  const std::uint64_t first = total * rank / ranks;
  const std::uint64_t last = total * (rank + 1) / ranks;
  std::size_t place = store.add(last - first);
  const Gas gas{store, fields};
  std::uint64_t number = 0;
  problem.visit([&](const Sample& sample) {
    const std::uint64_t mine = number++;
    if (mine < first || mine >= last) {
      return;
    }
    store.ids()[place] = mine + 1;
    store[Particles::kind][place] = sample.kind;
    gas.position[place] = problem.origin + sample.position;
    gas.velocity[place] = gas.velocity_now[place] = sample.velocity;
    gas.mass[place] = sample.mass;
    gas.energy[place] = gas.energy_now[place] = static_cast<float>(sample.energy);
    gas.smoothing[place] = static_cast<float>(sample.smoothing);
    ++place;
  });
}

}  // namespace sph
