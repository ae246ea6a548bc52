// SPDX-License-Identifier: Apache-2.0
#include "pic/parallel/checkpoint.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pic/parallel/patch_parcel.hpp"

namespace pic {

namespace data = plait::data;
using plait::Bytes;

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
  Tile<D, double> potential;  ///< Where conjugate gradients begin.

  SavedFields() = default;
  /// Those of a solver.
  SavedFields(Solver<D>& solver, const Box<D>& nodes) : electric{nodes}, magnetic{nodes}, potential{nodes} {
    copy(nodes, solver.electric(), electric);
    copy(nodes, solver.magnetic(), magnetic);
    copy(nodes, solver.potential(), potential);
  }
  /// Some of those that another has.
  SavedFields(const SavedFields& other, const Box<D>& nodes) : electric{nodes}, magnetic{nodes}, potential{nodes} {
    copy(nodes, other.electric, electric);
    copy(nodes, other.magnetic, magnetic);
    copy(nodes, other.potential, potential);
  }
  void put_into(Solver<D>& solver) const {
    copy(nodes(), electric, solver.electric());
    copy(nodes(), magnetic, solver.magnetic());
    copy(nodes(), potential, solver.potential());
  }
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

 private:
  template <class T>
  static void copy(const Box<D>& nodes, const Tile<D, T>& from, Tile<D, T>& to) {
    for_each_place(nodes, [&](const Place<D>& node) { to[node] = from[node]; });
  }
};

namespace {

constexpr const char* patches_name = "patches";
constexpr const char* fields_name = "fields";

/// Elements of a kind, named by the first cell of the box they are of: no other of a division has it.
template <class T, int D>
class Saver {
 public:
  Saver(const char* name, const Grid<D>& grid) : grid_{grid} {
    packed_.collection = name;
    packed_.type = plait::type_name<T>();
  }
  void add(const Box<D>& box, const T& element) {
    packed_.add(data::ElementId{grid_.number(box.low)}, data::pack(element));
  }
  [[nodiscard]] data::PackedElements take() { return std::move(packed_); }

 private:
  const Grid<D>& grid_;
  data::PackedElements packed_;
};

/// Calls `f(element)` with every one that this rank has read.
template <class T, class F>
void for_each_saved(const data::Checkpoint& checkpoint, const char* name, F f) {
  const data::PackedElements& packed = checkpoint.elements(name, plait::type_name<T>(), data::Shape{});
  for (std::size_t place = 0; place < packed.count(); ++place) {
    f(data::unpack_as<T>(packed.element(place)));
  }
}

[[noreturn]] void throw_broken(const std::string& what) {
  throw plait::Error{plait::ErrorCode::bad_input,
                     fmt::format("the checkpoint cannot be used, as {}: restart from an older one", what)};
}

template <int D>
void restore_fields(Solver<D>& solver, const data::Checkpoint& checkpoint, const Grid<D>& grid, Ranks& ranks) {
  const Division<D> blocks{grid.cells, best_parts<D>(grid.cells, ranks.count())};
  std::vector<Bytes> out(static_cast<std::size_t>(ranks.count()));
  std::vector<Bytes> in(out.size());
  for_each_saved<SavedFields<D>>(checkpoint, fields_name, [&](const SavedFields<D>& saved) {
    if (!saved.is_whole()) {
      throw_broken("fields are missing");
    }
    for (std::int32_t block = 0; block < blocks.count(); ++block) {
      const Box<D> nodes = saved.nodes().common(grid.nodes(blocks.box(block)));
      if (!nodes.is_empty()) {
        append_packed(SavedFields<D>{saved, nodes}, out[static_cast<std::size_t>(block)]);
      }
    }
  });
  ranks.exchange_unknown(out, in);
  std::int64_t nodes = 0;
  for (const Bytes& bytes : in) {
    for_each_packed<SavedFields<D>>(bytes, [&](const SavedFields<D>& saved) {
      saved.put_into(solver);
      nodes += saved.nodes().count();
    });
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
  Saver<SavedPatch<D>, D> patches{patches_name, grid};
  for (const Patch<D>* const patch : way.local_patches()) {
    patches.add(patch->cells, {patch->species, patch->absorbed});
  }
  Saver<SavedFields<D>, D> fields{fields_name, grid};
  fields.add(way.solver().nodes(), {way.solver(), way.solver().nodes()});
  checkpoint.collections = {patches.take(), fields.take()};
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
