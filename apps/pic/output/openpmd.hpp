// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <mpi.h>

#include "plait/base/error.hpp"

namespace pic {

/// The units of a run in SI. The unit of charge is that of current times time.
struct OutputUnits {
  double length = 1;   ///< Metres.
  double mass = 1;     ///< Kilograms.
  double time = 1;     ///< Seconds.
  double current = 1;  ///< Amperes.

  /// The units of a code in which the speed of light, the electric constant, the electron's charge and mass, and the
  /// plasma frequency at a reference density are 1. `length`: the unit of length in metres. The unit of charge is that
  /// of all electrons in a unit of volume at that density, `plasma_electrons`.
  [[nodiscard]] static OutputUnits plasma(double length);
  [[nodiscard]] static double plasma_electrons(double length);
};

/// Powers of length, mass, time and current: a field's SI value is its number times these powers of `OutputUnits`.
struct OutputDimension {
  double length = 0;
  double mass = 0;
  double time = 0;
  double current = 0;
};
inline constexpr OutputDimension electric_field{.length = 1, .mass = 1, .time = -3, .current = -1};
inline constexpr OutputDimension magnetic_field{.mass = 1, .time = -2, .current = -1};
inline constexpr OutputDimension current_density{.length = -2, .current = 1};
inline constexpr OutputDimension charge_density{.length = -3, .time = 1, .current = 1};

/// The whole box, with x first; a box of two dimensions has one cell in z.
struct OutputGrid {
  int dimensions = 2;
  std::array<std::uint64_t, 3> cells{1, 1, 1};
  std::array<double, 3> spacing{1, 1, 1};
  std::array<double, 3> origin{0, 0, 0};              ///< Of its lower corner.
  std::array<bool, 3> is_periodic{true, true, true};  ///< Else particles and waves meet a wall there.
};

/// The cells of this rank.
struct OutputBlock {
  std::array<std::uint64_t, 3> first{0, 0, 0};
  std::array<std::uint64_t, 3> count{1, 1, 1};
};

/// One component of a mesh: its values on this rank's block, x running fastest, without guard cells, and their position
/// in a cell, 0 to 1.
struct OutputComponent {
  std::string name;  ///< "x", "y", "z"; empty for a scalar.
  std::array<double, 3> position{0, 0, 0};
  std::span<const double> values;
};

struct OutputMesh {
  std::string name;
  OutputDimension dimension;
  std::vector<OutputComponent> components;
  double time_offset = 0;  ///< Time of the values minus the step's.
};

/// This rank's particles of one species, in any order. Borrows the arrays, which have one entry a particle.
struct OutputSpecies {
  std::string name;
  double charge = -1;                               ///< Of one real particle.
  double mass = 1;                                  ///< Of one real particle.
  int shape = 1;                                    ///< Order of its shape.
  std::array<std::span<const double>, 3> position;  ///< As many as the box has dimensions; the others are ignored.
  std::array<std::span<const double>, 3>
      momentum;                       ///< Of one real particle, at the step's time plus `momentum_offset`.
  std::span<const double> weighting;  ///< Real particles in a macroparticle.
  std::span<const std::uint64_t> id;
  double momentum_offset = 0;  ///< In time.
};

/// All of one step: the same on all ranks except for block, values and particles. All ranks list the same meshes and
/// species.
struct OutputStep {
  std::uint64_t step = 0;
  double time = 0;
  double time_step = 0;
  std::string field_solver = "Yee";  ///< As in openPMD's extension ED-PIC: "Yee", "other" ...
  std::string field_solver_parameters = {};
  OutputUnits units;
  OutputGrid grid;
  OutputBlock block;
  std::vector<OutputMesh> meshes;
  std::vector<OutputSpecies> species;
};

/// `FOLDER/pic-00000012.h5`, as openPMD's readers expect the files of a series.
[[nodiscard]] std::filesystem::path output_file(const std::filesystem::path& folder, std::uint64_t step);

/// Writes one file of openPMD 1.1 with the extension ED-PIC, in parallel. Particles are in the order of ranks, with a
/// particle patch for each rank's block.
///
/// The file is written under another name and renamed when it is complete; an older file stays until then. Collective
/// over `communicator`, which must have no pending operations: HDF5 uses it. Returns the file's size in bytes. Error:
/// on all ranks, with file, part and reason; no partial file stays.
[[nodiscard]] plait::Result<std::uint64_t> write_openpmd(const std::filesystem::path& file,
                                                         const OutputStep& step,
                                                         MPI_Comm communicator);

}  // namespace pic
