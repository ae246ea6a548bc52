// SPDX-License-Identifier: Apache-2.0
#include "pic/output/way_output.hpp"

#include <cmath>
#include <deque>
#include <vector>

#include "pic/output/openpmd.hpp"

namespace pic {
namespace {

constexpr double unit_length = 1e-6;  // m

/// A step for the file, and the arrays that it borrows.
template <int D>
class Collected {
 public:
  explicit Collected(GridWay<D>& way) : way_{way}, problem_{way.problem()} {
    describe();
    if (problem_.physics.solve != Solve::nothing) {
      add_fields();
      add_deposits();
    }
    for (std::size_t i = 0; i < problem_.physics.species.size(); ++i) {
      add_species(i);
    }
  }

  [[nodiscard]] const OutputStep& step() const noexcept { return step_; }

 private:
  void describe() {
    const Physics<D>& physics = problem_.physics;
    step_.step = way_.steps_done();
    step_.time = static_cast<double>(step_.step) * physics.time_step;
    step_.time_step = physics.time_step;
    step_.units = OutputUnits::plasma(unit_length);
    if (physics.solve != Solve::electromagnetic) {
      step_.field_solver = "other";
      step_.field_solver_parameters = "Poisson's equation by second differences";
    }
    step_.grid.dimensions = D;
    const Box<D> all = physics.grid.node_box();
    const Box<D>& own = way_.solver().nodes();
    for (int d = 0; d < D; ++d) {
      const auto axis = static_cast<std::size_t>(d);
      step_.grid.cells[axis] = static_cast<std::uint64_t>(all.extent(d));
      step_.grid.spacing[axis] = physics.grid.spacing[d];
      step_.grid.is_periodic[axis] = physics.grid.is_periodic(d);
      step_.block.first[axis] = static_cast<std::uint64_t>(own.low[d]);
      step_.block.count[axis] = static_cast<std::uint64_t>(own.extent(d));
    }
  }

  void add_fields() {
    const Tile<D, NodeField>& fields = way_.solver().fields();
    step_.meshes.push_back(
        vector_mesh("E", electric_field, [&](const Place<D>& node, std::size_t k) { return fields[node][k]; }));
    step_.meshes.push_back(
        vector_mesh("B", magnetic_field, [&](const Place<D>& node, std::size_t k) { return fields[node][3 + k]; }));
  }

  /// Adds currents of the last step, half a cell along their axes and half a step ago, and the present charges.
  void add_deposits() {
    const Physics<D>& physics = problem_.physics;
    if (physics.solve == Solve::electromagnetic) {
      const Tile<D, NodeCurrent>& current = way_.solver().current();
      const Vector3 factors = physics.current_factors();
      OutputMesh mesh = vector_mesh("J", current_density, [&](const Place<D>& node, std::size_t k) {
        return static_cast<double>(current[node][k]) * factors[k];
      });
      for (std::size_t k = 0; k < static_cast<std::size_t>(D); ++k) {
        mesh.components[k].position[k] = 0.5;
      }
      mesh.time_offset = -0.5 * physics.time_step;
      step_.meshes.push_back(std::move(mesh));
    }
    const Tile<D, Quanta>& charge = way_.solver().charge();
    const double density = physics.quantum / physics.grid.cell_volume();
    step_.meshes.push_back(
        {.name = "rho", .dimension = charge_density, .components = {component("", {0, 0, 0}, [&](const Place<D>& node) {
                                                       return static_cast<double>(charge[node]) * density;
                                                     })}});
  }

  void add_species(std::size_t index) {
    const Species& species = problem_.physics.species[index];
    const double mass = 1 / electrons_ / std::abs(species.charge_to_mass);
    OutputSpecies output{.name = species.name,
                         .charge = std::copysign(1 / electrons_, species.charge),
                         .mass = mass,
                         .shape = problem_.physics.order,
                         .momentum_offset = -0.5 * problem_.physics.time_step};
    for (std::size_t d = 0; d < 3; ++d) {
      std::vector<double>& position = columns_.emplace_back();
      std::vector<double>& momentum = columns_.emplace_back();
      for (const Patch<D>* const patch : way_.local_patches()) {
        const Particles<D>& particles = patch->species[index];
        for (std::size_t i = 0; i < particles.size(); ++i) {
          momentum.push_back(particles.momentum[d][i] * mass);
          if (d < static_cast<std::size_t>(D)) {
            position.push_back(particles.position[d][i] * problem_.physics.grid.spacing[d]);
          }
        }
      }
      output.position[d] = position;
      output.momentum[d] = momentum;
    }
    std::vector<std::uint64_t>& ids = ids_.emplace_back();
    for (const Patch<D>* const patch : way_.local_patches()) {
      ids.insert(ids.end(), patch->species[index].id.begin(), patch->species[index].id.end());
    }
    output.id = ids;
    std::vector<double>& weighting = columns_.emplace_back();
    weighting.assign(ids.size(), std::abs(species.charge) * electrons_);
    output.weighting = weighting;
    step_.species.push_back(std::move(output));
  }

  /// A component with one value for each of this rank's nodes.
  template <class Value>
  OutputComponent component(std::string name, std::array<double, 3> position, Value value) {
    std::vector<double>& values = columns_.emplace_back();
    for_each_place(way_.solver().nodes(), [&](const Place<D>& node) { values.push_back(value(node)); });
    return {std::move(name), position, values};
  }
  template <class Value>
  OutputMesh vector_mesh(std::string name, const OutputDimension& dimension, Value value) {
    OutputMesh mesh{.name = std::move(name), .dimension = dimension};
    for (std::size_t k = 0; k < 3; ++k) {
      mesh.components.push_back(
          component(std::string(1, "xyz"[k]), {0, 0, 0}, [&](const Place<D>& node) { return value(node, k); }));
    }
    return mesh;
  }

  GridWay<D>& way_;
  const Problem<D>& problem_;
  const double electrons_ = OutputUnits::plasma_electrons(unit_length);
  OutputStep step_;
  std::deque<std::vector<double>> columns_;
  std::deque<std::vector<std::uint64_t>> ids_;
};

}  // namespace

template <int D>
plait::Result<std::uint64_t> write_output(GridWay<D>& way, const std::filesystem::path& folder, MPI_Comm communicator) {
  const std::vector<NodeCurrent> currents{way.solver().current().data(),
                                          way.solver().current().data() + way.solver().current().size()};
  (void)way.gauss_error();  // collects the charges
  std::copy(currents.begin(), currents.end(), way.solver().current().data());
  const Collected<D> collected{way};
  return write_openpmd(output_file(folder, way.steps_done()), collected.step(), communicator);
}

template plait::Result<std::uint64_t> write_output<2>(GridWay<2>&, const std::filesystem::path&, MPI_Comm);
template plait::Result<std::uint64_t> write_output<3>(GridWay<3>&, const std::filesystem::path&, MPI_Comm);

}  // namespace pic
