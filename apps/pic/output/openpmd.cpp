// SPDX-License-Identifier: Apache-2.0
#include "pic/output/openpmd.hpp"

#include <cmath>
#include <ctime>

#include <fmt/format.h>

#include "plait/files/hdf5/mpi/mpi_ranks.hpp"

#include "pic/output/detail/openpmd_contents.hpp"

namespace pic {
namespace {

using plait::Error;
using plait::ErrorCode;

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

/// What would end in a mangled file or in one rank waiting for another.
void check_step(const OutputStep& step) {
  std::uint64_t cells = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    cells *= step.block.count[axis];
    if (step.block.first[axis] + step.block.count[axis] > step.grid.cells[axis]) {
      throw Error{ErrorCode::bad_argument,
                  fmt::format("cells {} to {} of axis {} are no part of a box of {}",
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

/// Collective.
detail::OutputShares gather_shares(const OutputStep& step, MPI_Comm communicator) {
  int self = 0;
  int ranks = 1;
  MPI_Comm_rank(communicator, &self);
  MPI_Comm_size(communicator, &ranks);
  detail::OutputShares shares;
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
  const detail::OutputShares shares = gather_shares(step, communicator);
  return plait::files::write_hdf5(
      file, ranks, [&](plait::files::Hdf5Writer& out) { detail::write_contents(out, step, shares); });
}

}  // namespace pic
