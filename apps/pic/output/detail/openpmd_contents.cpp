// SPDX-License-Identifier: Apache-2.0
// The names and attributes are those of the openPMD standard 1.1.0 and its extension ED-PIC.
#include "pic/output/detail/openpmd_contents.hpp"

#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "plait/version.hpp"

namespace pic::detail {
namespace {

using plait::files::Hdf5Handle;

constexpr std::array<const char*, 3> axes{"x", "y", "z"};

/// How a record changes with the number of real particles that a particle stands for.
struct Weighting {
  std::uint32_t is_macro = 0;  ///< Whether the value is that of all of them together.
  double power = 0;
};

class Contents {
 public:
  Contents(plait::files::Hdf5Writer& out, const OutputStep& step, const OutputShares& shares)
      : out_{out}, step_{step}, shares_{shares}, base_{fmt::format("/data/{}", step.step)} {}

  void write_root() const;
  void write_meshes() const;
  void write_species(const OutputSpecies& species, const std::vector<std::uint64_t>& counts) const;

 private:
  [[nodiscard]] double si(const OutputDimension& dimension) const {
    return std::pow(step_.units.length, dimension.length) * std::pow(step_.units.mass, dimension.mass) *
           std::pow(step_.units.time, dimension.time) * std::pow(step_.units.current, dimension.current);
  }
  [[nodiscard]] std::size_t dimensions() const { return static_cast<std::size_t>(step_.grid.dimensions); }
  /// One entry a dimension of the box, slowest axis first.
  template <class T>
  [[nodiscard]] std::vector<T> slowest_first(const std::array<T, 3>& values) const {
    return {values.rend() - step_.grid.dimensions, values.rend()};
  }
  void describe(const Hdf5Handle& record, const OutputDimension& dimension, double time_offset) const;
  void write_mesh(const std::string& path, const OutputMesh& mesh) const;
  void write_component(const std::string& path, const OutputMesh& mesh, const OutputComponent& component) const;
  void weigh(const Hdf5Handle& record, Weighting weighting) const;
  void constant(const Hdf5Handle& component, double value, std::uint64_t total) const;
  void write_patches(const std::string& path, const std::vector<std::uint64_t>& counts) const;

  plait::files::Hdf5Writer& out_;
  const OutputStep& step_;
  const OutputShares& shares_;
  std::string base_;
};

void Contents::write_root() const {
  const Hdf5Handle base = out_.group(base_);
  out_.attribute(base, "time", step_.time);
  out_.attribute(base, "dt", step_.time_step);
  out_.attribute(base, "timeUnitSI", step_.units.time);
}

void Contents::describe(const Hdf5Handle& record, const OutputDimension& dimension, double time_offset) const {
  const std::array<double, 7> powers{dimension.length, dimension.mass, dimension.time, dimension.current, 0, 0, 0};
  out_.attribute(record, "unitDimension", std::span<const double>{powers});
  out_.attribute(record, "timeOffset", time_offset);
}

void Contents::write_component(const std::string& path,
                               const OutputMesh& mesh,
                               const OutputComponent& component) const {
  const auto lengths = [this](const std::array<std::uint64_t, 3>& values) {
    const std::vector<std::uint64_t> ordered = slowest_first(values);
    return std::vector<hsize_t>{ordered.begin(), ordered.end()};
  };
  const Hdf5Handle set = out_.dataset(
      path, {lengths(step_.grid.cells), lengths(step_.block.first), lengths(step_.block.count)}, component.values);
  out_.attribute(set, "unitSI", si(mesh.dimension));
  out_.attribute(set, "position", std::span<const double>{slowest_first(component.position)});
}

void Contents::write_mesh(const std::string& path, const OutputMesh& mesh) const {
  const bool is_scalar = mesh.components.size() == 1 && mesh.components[0].name.empty();
  Hdf5Handle record;
  if (is_scalar) {
    write_component(path, mesh, mesh.components[0]);
    record = out_.open(path);
  } else {
    record = out_.group(path);
    for (const OutputComponent& component : mesh.components) {
      write_component(path + "/" + component.name, mesh, component);
    }
  }
  describe(record, mesh.dimension, mesh.time_offset);
  const std::array<std::string, 3> labels{axes[0], axes[1], axes[2]};
  out_.attribute(record, "geometry", "cartesian");
  out_.attribute(record, "dataOrder", "C");
  out_.attribute(record, "axisLabels", std::span<const std::string>{slowest_first(labels)});
  out_.attribute(record, "gridSpacing", std::span<const double>{slowest_first(step_.grid.spacing)});
  out_.attribute(record, "gridGlobalOffset", std::span<const double>{slowest_first(step_.grid.origin)});
  out_.attribute(record, "gridUnitSI", step_.units.length);
  out_.attribute(record, "fieldSmoothing", "none");
}

void Contents::write_meshes() const {
  const Hdf5Handle meshes = out_.group(base_ + "/meshes");
  std::vector<std::string> fields;
  std::vector<std::string> particles;
  for (std::size_t axis = dimensions(); axis-- > 0;) {
    for (int side = 0; side < 2; ++side) {
      fields.emplace_back(step_.grid.is_periodic[axis] ? "periodic" : "reflecting");
      particles.emplace_back(step_.grid.is_periodic[axis] ? "periodic" : "absorbing");
    }
  }
  out_.attribute(meshes, "fieldSolver", step_.field_solver);
  if (!step_.field_solver_parameters.empty()) {
    out_.attribute(meshes, "fieldSolverParameters", step_.field_solver_parameters);
  }
  out_.attribute(meshes, "fieldBoundary", std::span<const std::string>{fields});
  out_.attribute(meshes, "particleBoundary", std::span<const std::string>{particles});
  out_.attribute(meshes, "currentSmoothing", "none");
  out_.attribute(meshes, "chargeCorrection", "none");
  for (const OutputMesh& mesh : step_.meshes) {
    write_mesh(base_ + "/meshes/" + mesh.name, mesh);
  }
}

void Contents::weigh(const Hdf5Handle& record, Weighting weighting) const {
  out_.attribute(record, "macroWeighted", weighting.is_macro);
  out_.attribute(record, "weightingPower", weighting.power);
}

void Contents::constant(const Hdf5Handle& component, double value, std::uint64_t total) const {
  const std::array<std::uint64_t, 1> shape{total};
  out_.attribute(component, "value", value);
  out_.attribute(component, "shape", std::span<const std::uint64_t>{shape});
}

void Contents::write_patches(const std::string& path, const std::vector<std::uint64_t>& counts) const {
  const hsize_t ranks = counts.size();
  const plait::files::Hyperslab mine{{ranks}, {shares_.self}, {1}};
  const Hdf5Handle patches = out_.group(path);
  const std::uint64_t before = std::accumulate(counts.begin(), counts.begin() + shares_.self, std::uint64_t{0});
  const auto number = [&](const char* name, std::uint64_t value) {
    const Hdf5Handle set = out_.dataset(path + "/" + name, mine, std::span<const std::uint64_t>{&value, 1});
    describe(set, {}, 0);
    out_.attribute(set, "unitSI", 1.0);
  };
  number("numParticles", counts[shares_.self]);
  number("numParticlesOffset", before);
  for (const bool is_extent : {false, true}) {
    const std::string record_path = path + (is_extent ? "/extent" : "/offset");
    const Hdf5Handle record = out_.group(record_path);
    describe(record, {.length = 1}, 0);
    for (std::size_t axis = 0; axis < dimensions(); ++axis) {
      const double spacing = step_.grid.spacing[axis];
      const double value = is_extent ? static_cast<double>(step_.block.count[axis]) * spacing
                                     : step_.grid.origin[axis] + static_cast<double>(step_.block.first[axis]) * spacing;
      const Hdf5Handle set = out_.dataset(record_path + "/" + axes[axis], mine, std::span<const double>{&value, 1});
      out_.attribute(set, "unitSI", step_.units.length);
    }
  }
}

void Contents::write_species(const OutputSpecies& species, const std::vector<std::uint64_t>& counts) const {
  const std::string path = fmt::format("{}/particles/{}", base_, species.name);
  const Hdf5Handle group = out_.group(path);
  out_.attribute(group, "particleShape", static_cast<double>(species.shape));
  out_.attribute(group, "currentDeposition", "Esirkepov");
  out_.attribute(group, "particlePush", "Boris");
  out_.attribute(group, "particleInterpolation", "uniform");
  out_.attribute(group, "particleSmoothing", "none");
  const std::uint64_t total = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  const std::uint64_t before = std::accumulate(counts.begin(), counts.begin() + shares_.self, std::uint64_t{0});
  const plait::files::Hyperslab mine{{total}, {before}, {species.id.size()}};

  const auto vector = [&](const char* name,
                          const OutputDimension& dimension,
                          double time_offset,
                          Weighting weighting,
                          const std::array<std::span<const double>, 3>& columns,
                          std::size_t count) {
    const Hdf5Handle record = out_.group(path + "/" + name);
    describe(record, dimension, time_offset);
    weigh(record, weighting);
    for (std::size_t axis = 0; axis < count; ++axis) {
      const Hdf5Handle set = out_.dataset(fmt::format("{}/{}/{}", path, name, axes[axis]), mine, columns[axis]);
      out_.attribute(set, "unitSI", si(dimension));
    }
  };
  constexpr OutputDimension length{.length = 1};
  constexpr OutputDimension impulse{.length = 1, .mass = 1, .time = -1};
  vector("position", length, 0, {}, species.position, dimensions());
  vector("momentum", impulse, species.momentum_offset, {0, 1}, species.momentum, 3);
  const Hdf5Handle offset = out_.group(path + "/positionOffset");
  describe(offset, length, 0);
  weigh(offset, {});
  for (std::size_t axis = 0; axis < dimensions(); ++axis) {
    const Hdf5Handle component = out_.group(fmt::format("{}/positionOffset/{}", path, axes[axis]));
    constant(component, 0, total);
    out_.attribute(component, "unitSI", step_.units.length);
  }
  const auto scalar = [&](const Hdf5Handle& record, const OutputDimension& dimension, Weighting weighting) {
    describe(record, dimension, 0);
    weigh(record, weighting);
    out_.attribute(record, "unitSI", si(dimension));
  };
  scalar(out_.dataset(path + "/weighting", mine, species.weighting), {}, {1, 1});
  scalar(out_.dataset(path + "/id", mine, species.id), {}, {});
  const auto constant_scalar = [&](const char* name, const OutputDimension& dimension, double value) {
    const Hdf5Handle record = out_.group(path + "/" + name);
    constant(record, value, total);
    scalar(record, dimension, {0, 1});
  };
  constant_scalar("charge", {.time = 1, .current = 1}, species.charge);
  constant_scalar("mass", {.mass = 1}, species.mass);
  write_patches(path + "/particlePatches", counts);
}

}  // namespace

void write_contents(plait::files::Hdf5Writer& out, const OutputStep& step, const OutputShares& shares) {
  const Contents contents{out, step, shares};
  const Hdf5Handle root = out.open("/");
  out.attribute(root, "openPMD", "1.1.0");
  out.attribute(root, "openPMDextension", std::uint32_t{1});  // ED-PIC
  out.attribute(root, "basePath", "/data/%T/");
  out.attribute(root, "meshesPath", "meshes/");
  out.attribute(root, "particlesPath", "particles/");
  out.attribute(root, "iterationEncoding", "fileBased");
  out.attribute(root, "iterationFormat", "pic-%08T.h5");
  out.attribute(root, "author", "plait-pic");
  out.attribute(root, "software", "plait-pic");
  out.attribute(root, "softwareVersion", std::string{plait::version()});
  out.attribute(root, "date", shares.date);
  contents.write_root();
  contents.write_meshes();
  const Hdf5Handle particles = out.group(fmt::format("/data/{}/particles", step.step));
  for (std::size_t i = 0; i < step.species.size(); ++i) {
    contents.write_species(step.species[i], shares.particles[i]);
  }
}

}  // namespace pic::detail
