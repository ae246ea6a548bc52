// SPDX-License-Identifier: Apache-2.0
#include "pic/output/openpmd.hpp"

#include <cmath>
#include <ctime>
#include <numeric>

#include <fmt/format.h>

#include "plait/files/hdf5/mpi/mpi_ranks.hpp"
#include "plait/version.hpp"

namespace pic {
namespace {

using plait::Error;
using plait::ErrorCode;
using plait::files::Hdf5Handle;

constexpr double light = 299792458;                     // m/s
constexpr double electric_constant = 8.8541878128e-12;  // A s / (V m)
constexpr double elementary_charge = 1.602176634e-19;   // C
constexpr double electron_mass = 9.1093837015e-31;      // kg

void check_species(const OutputSpecies& species, int dimensions) {
  const std::size_t count = species.id.size();
  bool is_even = species.weighting.size() == count;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    is_even = is_even && species.momentum[axis].size() == count;
    is_even = is_even && (static_cast<int>(axis) >= dimensions || species.position[axis].size() == count);
  }
  if (!is_even) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("the columns of the species '{}' differ in length; there are {} ids", species.name, count)};
  }
}

/// Refuses steps that would result in a corrupt file or a deadlock.
void check_step(const OutputStep& step) {
  std::uint64_t cells = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    cells *= step.block.count[axis];
    if (step.block.first[axis] + step.block.count[axis] > step.grid.cells[axis]) {
      throw Error{ErrorCode::bad_argument,
                  fmt::format("cells {} to {} of axis {} are outside of a box of {}",
                              step.block.first[axis],
                              step.block.first[axis] + step.block.count[axis],
                              axis,
                              step.grid.cells[axis])};
    }
  }
  for (const OutputMesh& mesh : step.meshes) {
    for (const OutputComponent& component : mesh.components) {
      if (component.values.size() != cells) {
        throw Error{
            ErrorCode::bad_argument,
            fmt::format(
                "the mesh {}{} has {} values for {} cells", mesh.name, component.name, component.values.size(), cells)};
      }
    }
  }
  for (const OutputSpecies& species : step.species) {
    check_species(species, step.grid.dimensions);
  }
}

std::string now_in_words() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S +0000", &utc)};
}

/// The data about all ranks that each rank needs.
struct Shares {
  std::uint32_t self = 0;
  std::string date;                                   ///< "2026-01-31 23:59:59 +0000"
  std::vector<std::vector<std::uint64_t>> particles;  ///< By species, by rank.
};

/// Collective.
Shares gather_shares(const OutputStep& step, MPI_Comm communicator) {
  int self = 0;
  int ranks = 1;
  MPI_Comm_rank(communicator, &self);
  MPI_Comm_size(communicator, &ranks);
  Shares shares;
  shares.self = static_cast<std::uint32_t>(self);
  shares.date = now_in_words();
  MPI_Bcast(shares.date.data(), static_cast<int>(shares.date.size()), MPI_CHAR, 0, communicator);
  for (const OutputSpecies& species : step.species) {
    const std::uint64_t mine = species.id.size();
    std::vector<std::uint64_t>& counts = shares.particles.emplace_back(static_cast<std::size_t>(ranks));
    MPI_Allgather(&mine, 1, MPI_UINT64_T, counts.data(), 1, MPI_UINT64_T, communicator);
  }
  return shares;
}

// The names and attributes are those of the openPMD standard 1.1.0 and its extension ED-PIC.

constexpr std::array<const char*, 3> axes{"x", "y", "z"};

/// How a record depends on the number of real particles in a macroparticle.
struct Weighting {
  std::uint32_t is_macro = 0;  ///< Whether the value is the sum over the real particles.
  double power = 0;
};

class Contents {
 public:
  Contents(plait::files::Hdf5Writer& out, const OutputStep& step, const Shares& shares)
      : out_{out}, step_{step}, shares_{shares}, base_{fmt::format("/data/{}", step.step)} {}

  void write() const {
    const Hdf5Handle root = out_.open("/");
    out_.attribute(root, "openPMD", "1.1.0");
    out_.attribute(root, "openPMDextension", std::uint32_t{1});  // ED-PIC
    out_.attribute(root, "basePath", "/data/%T/");
    out_.attribute(root, "meshesPath", "meshes/");
    out_.attribute(root, "particlesPath", "particles/");
    out_.attribute(root, "iterationEncoding", "fileBased");
    out_.attribute(root, "iterationFormat", "pic-%08T.h5");
    out_.attribute(root, "author", "plait-pic");
    out_.attribute(root, "software", "plait-pic");
    out_.attribute(root, "softwareVersion", std::string{plait::version()});
    out_.attribute(root, "date", shares_.date);
    const Hdf5Handle base = out_.group(base_);
    out_.attribute(base, "time", step_.time);
    out_.attribute(base, "dt", step_.time_step);
    out_.attribute(base, "timeUnitSI", step_.units.time);
    write_meshes();
    const Hdf5Handle particles = out_.group(base_ + "/particles");
    for (std::size_t i = 0; i < step_.species.size(); ++i) {
      write_species(step_.species[i], shares_.particles[i]);
    }
  }

 private:
  void write_meshes() const {
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

  void write_species(const OutputSpecies& species, const std::vector<std::uint64_t>& counts) const {
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
  void describe(const Hdf5Handle& record, const OutputDimension& dimension, double time_offset) const {
    const std::array<double, 7> powers{dimension.length, dimension.mass, dimension.time, dimension.current, 0, 0, 0};
    out_.attribute(record, "unitDimension", std::span<const double>{powers});
    out_.attribute(record, "timeOffset", time_offset);
  }

  void write_mesh(const std::string& path, const OutputMesh& mesh) const {
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

  void write_component(const std::string& path, const OutputMesh& mesh, const OutputComponent& component) const {
    const auto lengths = [this](const std::array<std::uint64_t, 3>& values) {
      const std::vector<std::uint64_t> ordered = slowest_first(values);
      return std::vector<hsize_t>{ordered.begin(), ordered.end()};
    };
    const Hdf5Handle set = out_.dataset(
        path, {lengths(step_.grid.cells), lengths(step_.block.first), lengths(step_.block.count)}, component.values);
    out_.attribute(set, "unitSI", si(mesh.dimension));
    out_.attribute(set, "position", std::span<const double>{slowest_first(component.position)});
  }

  void weigh(const Hdf5Handle& record, Weighting weighting) const {
    out_.attribute(record, "macroWeighted", weighting.is_macro);
    out_.attribute(record, "weightingPower", weighting.power);
  }

  void constant(const Hdf5Handle& component, double value, std::uint64_t total) const {
    const std::array<std::uint64_t, 1> shape{total};
    out_.attribute(component, "value", value);
    out_.attribute(component, "shape", std::span<const std::uint64_t>{shape});
  }

  void write_patches(const std::string& path, const std::vector<std::uint64_t>& counts) const {
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
        const double value = is_extent
                                 ? static_cast<double>(step_.block.count[axis]) * spacing
                                 : step_.grid.origin[axis] + static_cast<double>(step_.block.first[axis]) * spacing;
        const Hdf5Handle set = out_.dataset(record_path + "/" + axes[axis], mine, std::span<const double>{&value, 1});
        out_.attribute(set, "unitSI", step_.units.length);
      }
    }
  }

  plait::files::Hdf5Writer& out_;
  const OutputStep& step_;
  const Shares& shares_;
  std::string base_;
};

}  // namespace

OutputUnits OutputUnits::plasma(double length) {
  const double electrons = plasma_electrons(length);
  const double time = length / light;
  return {.length = length,
          .mass = electron_mass * electrons,
          .time = time,
          .current = elementary_charge * electrons / time};
}

double OutputUnits::plasma_electrons(double length) {
  return electric_constant * electron_mass * light * light * length / (elementary_charge * elementary_charge);
}

std::filesystem::path output_file(const std::filesystem::path& folder, std::uint64_t step) {
  return folder / fmt::format("pic-{:08}.h5", step);
}

plait::Result<std::uint64_t> write_openpmd(const std::filesystem::path& file,
                                           const OutputStep& step,
                                           MPI_Comm communicator) {
  plait::files::MpiRanks ranks{communicator};
  if (const auto trouble = plait::net::first_error(ranks.exchange(), [&] { check_step(step); })) {
    return *trouble;
  }
  const Shares shares = gather_shares(step, communicator);
  return plait::files::write_hdf5(
      file, ranks, [&](plait::files::Hdf5Writer& out) { Contents{out, step, shares}.write(); });
}

}  // namespace pic
