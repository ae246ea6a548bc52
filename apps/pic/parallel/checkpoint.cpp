// SPDX-License-Identifier: Apache-2.0
#include "pic/parallel/checkpoint.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pic/parallel/exchange_values.hpp"

namespace pic {

namespace data = plait::data;

namespace {

constexpr const char* patches_name = "patches";
constexpr const char* fields_name = "fields";

template <int D, class T>
void copy(const Box<D>& nodes, const Tile<D, T>& from, Tile<D, T>& to) {
  for_each_place(nodes, [&](const Place<D>& node) { to[node] = from[node]; });
}

template <int D, class T>
Tile<D, T> part_of(const Tile<D, T>& tile, const Box<D>& nodes) {
  Tile<D, T> part{nodes};
  copy(nodes, tile, part);
  return part;
}

}  // namespace

/// The particles of one patch.
template <int D>
struct SavedPatch {
  std::vector<Particles<D>> species;
  std::uint64_t absorbed = 0;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(species, absorbed);
  }
};

/// The solver's fields on some nodes.
template <int D>
struct SavedFields {
  Tile<D, Vector3> electric;
  Tile<D, Vector3> magnetic;
  Tile<D, double> potential;  ///< The first guess of conjugate gradients.

  [[nodiscard]] const Box<D>& nodes() const { return electric.box(); }
  [[nodiscard]] bool is_whole() const {
    const auto has_all = [this](const auto& tile) {
      return tile.box() == nodes() && tile.size() == static_cast<std::size_t>(nodes().count());
    };
    return has_all(electric) && has_all(magnetic) && has_all(potential);
  }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(electric, magnetic, potential);
  }
};

namespace {

/// No elements yet of a kind.
template <class T>
data::PackedElements elements_of(const char* name) {
  data::PackedElements packed;
  packed.collection = name;
  packed.type = plait::type_name<T>();
  return packed;
}

/// Elements are named by the first cell or node of their box, which no other element has.
template <int D>
data::ElementId id_of(const Grid<D>& grid, const Box<D>& box) {
  return data::ElementId{grid.number(box.low)};
}

/// Calls `f(element)` for every element that this rank has read.
template <class T, class F>
void for_each_saved(const data::Checkpoint& checkpoint, const char* name, F f) {
  const data::PackedElements& packed = checkpoint.elements(name, plait::type_name<T>(), data::Shape{});
  for (std::size_t place = 0; place < packed.count(); ++place) {
    f(data::unpack_as<T>(packed.element(place)));
  }
}

[[noreturn]] void throw_broken(const std::string& what) {
  throw plait::Error{plait::ErrorCode::bad_input,
                     fmt::format("the checkpoint is not usable: {}; restart from an older one", what)};
}

template <int D>
void restore_fields(Solver<D>& solver, const data::Checkpoint& checkpoint, const Grid<D>& grid, Ranks& ranks) {
  const Division<D> blocks{grid.cells, best_parts<D>(grid.cells, ranks.count())};
  std::vector<std::vector<SavedFields<D>>> out(static_cast<std::size_t>(ranks.count()));
  for_each_saved<SavedFields<D>>(checkpoint, fields_name, [&](const SavedFields<D>& saved) {
    if (!saved.is_whole()) {
      throw_broken("fields are missing");
    }
    for (std::int32_t block = 0; block < blocks.count(); ++block) {
      const Box<D> nodes = saved.nodes().common(grid.nodes(blocks.box(block)));
      if (!nodes.is_empty()) {
        out[static_cast<std::size_t>(block)].push_back(
            {part_of(saved.electric, nodes), part_of(saved.magnetic, nodes), part_of(saved.potential, nodes)});
      }
    }
  });
  std::int64_t nodes = 0;
  for (const SavedFields<D>& saved : exchange_values(ranks, out)) {
    copy(saved.nodes(), saved.electric, solver.electric());
    copy(saved.nodes(), saved.magnetic, solver.magnetic());
    copy(saved.nodes(), saved.potential, solver.potential());
    nodes += saved.nodes().count();
  }
  if (nodes != solver.nodes().count()) {
    throw_broken("it does not have the fields of all nodes");
  }
  solver.go_on(checkpoint.step);
}

}  // namespace

template <int D>
std::map<std::string, std::string> description(const Problem<D>& problem, const PoissonOptions& poisson) {
  const Physics<D>& physics = problem.physics;
  std::map<std::string, std::string> text{{"problem", problem.name},
                                          {"seed", fmt::format("{}", problem.seed)},
                                          {"cells", fmt::format("{}", fmt::join(physics.grid.cells, " "))},
                                          {"spacing", fmt::format("{}", fmt::join(physics.grid.spacing, " "))},
                                          {"time step", fmt::format("{}", physics.time_step)},
                                          {"order", fmt::format("{}", physics.order)},
                                          {"solver", fmt::format("{}", static_cast<int>(physics.solve))},
                                          {"quantum", fmt::format("{}", physics.quantum)},
                                          {"poisson", fmt::format("{}", static_cast<int>(poisson.method))},
                                          {"tolerance", fmt::format("{}", poisson.tolerance)}};
  std::string& species = text["species"];
  for (const Species& one : physics.species) {
    species += fmt::format("{} {} {};", one.name, one.charge, one.charge_to_mass);
  }
  std::string& particles = text["particles"];
  for (const Filling<D>& one : problem.fillings) {
    particles += fmt::format("{} a cell, thermal {};", one.count(), one.thermal);
  }
  if (problem.plate) {
    particles += fmt::format("plate from {} to {}, thermal {}",
                             fmt::join(problem.plate->cells.low, " "),
                             fmt::join(problem.plate->cells.high, " "),
                             problem.plate->thermal);
  }
  if (problem.kernel) {
    const KernelProblem& kernel = *problem.kernel;
    particles += fmt::format("{} by distribution {}, k {}, m {}, rho {}, alpha {}, beta {}, patch from {} to {}",
                             kernel.particles,
                             static_cast<int>(kernel.distribution),
                             kernel.k,
                             kernel.m,
                             kernel.rho,
                             kernel.alpha,
                             kernel.beta,
                             fmt::join(kernel.patch.low, " "),
                             fmt::join(kernel.patch.high, " "));
  }
  return text;
}

template <int D>
data::Checkpoint to_checkpoint(GridWay<D>& way, const PoissonOptions& poisson) {
  const Grid<D>& grid = way.problem().physics.grid;
  data::Checkpoint checkpoint{.program = "plait-pic", .step = way.steps_done(), .values = {}, .collections = {}};
  for (const auto& [key, text] : description(way.problem(), poisson)) {
    checkpoint.values[key] = text;
  }
  data::PackedElements patches = elements_of<SavedPatch<D>>(patches_name);
  for (const Patch<D>* const patch : way.local_patches()) {
    patches.add(id_of(grid, patch->cells), data::pack(SavedPatch<D>{patch->species, patch->absorbed}));
  }
  data::PackedElements fields = elements_of<SavedFields<D>>(fields_name);
  Solver<D>& solver = way.solver();
  fields.add(id_of(grid, solver.nodes()),
             data::pack(SavedFields<D>{part_of(solver.electric(), solver.nodes()),
                                       part_of(solver.magnetic(), solver.nodes()),
                                       part_of(solver.potential(), solver.nodes())}));
  checkpoint.collections = {std::move(patches), std::move(fields)};
  return checkpoint;
}

template <int D>
void go_on(GridWay<D>& way, const data::Checkpoint& checkpoint, Ranks& ranks) {
  const Physics<D>& physics = way.problem().physics;
  std::vector<Migrant<D>> particles;
  std::uint64_t absorbed = 0;
  for_each_saved<SavedPatch<D>>(checkpoint, patches_name, [&](const SavedPatch<D>& patch) {
    absorbed += patch.absorbed;
    if (patch.species.size() != physics.species.size()) {
      throw_broken("a patch has other species");
    }
    for (std::uint64_t species = 0; species < patch.species.size(); ++species) {
      for (std::size_t i = 0; i < patch.species[species].size(); ++i) {
        particles.push_back(patch.species[species].get(i, species));
        if (!physics.grid.cell_box().contains(cell_of<D>(particles.back().position))) {
          throw_broken(fmt::format("particle {} is outside the box", particles.back().id));
        }
      }
    }
  });
  restore_fields(way.solver(), checkpoint, physics.grid, ranks);
  way.go_on(checkpoint.step, std::move(particles), absorbed);
}

template data::Checkpoint to_checkpoint<2>(GridWay<2>&, const PoissonOptions&);
template data::Checkpoint to_checkpoint<3>(GridWay<3>&, const PoissonOptions&);
template std::map<std::string, std::string> description<2>(const Problem<2>&, const PoissonOptions&);
template std::map<std::string, std::string> description<3>(const Problem<3>&, const PoissonOptions&);
template void go_on<2>(GridWay<2>&, const data::Checkpoint&, Ranks&);
template void go_on<3>(GridWay<3>&, const data::Checkpoint&, Ranks&);

}  // namespace pic
