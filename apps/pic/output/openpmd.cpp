// SPDX-License-Identifier: Apache-2.0
#include "pic/output/openpmd.hpp"

#include <cmath>
#include <ctime>
#include <functional>
#include <optional>
#include <system_error>

#include <fmt/format.h>

#include "pic/output/detail/openpmd_contents.hpp"

namespace pic {
namespace {

using plait::Error;
using plait::ErrorCode;

constexpr double light = 299792458;                     // m/s
constexpr double electric_constant = 8.8541878128e-12;  // A s / (V m)
constexpr double elementary_charge = 1.602176634e-19;   // C
constexpr double electron_mass = 9.1093837015e-31;      // kg

struct Writers {
  explicit Writers(MPI_Comm borrowed) : communicator{borrowed} {
    MPI_Comm_rank(communicator, &self);
    MPI_Comm_size(communicator, &count);
  }
  MPI_Comm communicator;
  int self = 0;
  int count = 1;
};

/// Does `work`; the error of the lowest rank that has one, on all ranks. Collective.
std::optional<Error> attempt(const Writers& ranks, const std::function<void()>& work) {
  std::string text;
  int first = ranks.count;
  try {
    work();
  } catch (const Error& error) {
    text = error.what();
    first = ranks.self;
  }
  MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, ranks.communicator);
  if (first == ranks.count) {
    return std::nullopt;
  }
  int length = static_cast<int>(text.size());
  MPI_Bcast(&length, 1, MPI_INT, first, ranks.communicator);
  text.resize(static_cast<std::size_t>(length));
  MPI_Bcast(text.data(), length, MPI_CHAR, first, ranks.communicator);
  return Error{ErrorCode::io, text, plait::Rank{static_cast<std::uint32_t>(first)}};
}

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
detail::OutputShares gather_shares(const OutputStep& step, const Writers& ranks) {
  detail::OutputShares shares;
  shares.self = static_cast<std::uint32_t>(ranks.self);
  shares.date = now_in_words();
  MPI_Bcast(shares.date.data(), static_cast<int>(shares.date.size()), MPI_CHAR, 0, ranks.communicator);
  for (const OutputSpecies& species : step.species) {
    const std::uint64_t mine = species.id.size();
    std::vector<std::uint64_t>& counts = shares.particles.emplace_back(static_cast<std::size_t>(ranks.count));
    MPI_Allgather(&mine, 1, MPI_UINT64_T, counts.data(), 1, MPI_UINT64_T, ranks.communicator);
  }
  return shares;
}

void write_file(const std::filesystem::path& partial,
                const OutputStep& step,
                const detail::OutputShares& shares,
                const Writers& ranks) {
  const plait::Hdf5Handle access{H5Pcreate(H5P_FILE_ACCESS), H5Pclose};
  const plait::Hdf5Handle transfer{H5Pcreate(H5P_DATASET_XFER), H5Pclose};
#ifdef H5_HAVE_PARALLEL
  H5Pset_fapl_mpio(access.id(), ranks.communicator, MPI_INFO_NULL);
  H5Pset_dxpl_mpio(transfer.id(), H5FD_MPIO_COLLECTIVE);
#else
  if (ranks.count > 1) {
    throw Error{ErrorCode::io,
                fmt::format("{}: this HDF5 has no parallel I/O; build with one that has "
                            "(Debian: libhdf5-openmpi-dev) or run on one rank",
                            partial.string())};
  }
#endif
  plait::Hdf5Handle file{H5Fcreate(partial.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.id()), H5Fclose};
  if (!file) {
    throw Error{ErrorCode::io,
                fmt::format("{}: cannot create the file: {}; does its folder exist, and may one write there?",
                            partial.string(),
                            plait::hdf5_reason())};
  }
  detail::write_contents(detail::Hdf5Writer{file.id(), partial.string(), transfer.id()}, step, shares);
  if (!file.close()) {
    throw Error{ErrorCode::io,
                fmt::format("{}: cannot be closed: {}; is the disk full?", partial.string(), plait::hdf5_reason())};
  }
}

std::uint64_t rename_complete(const std::filesystem::path& partial, const std::filesystem::path& file) {
  std::error_code trouble;
  const std::uint64_t bytes = std::filesystem::file_size(partial, trouble);
  if (!trouble) {
    std::filesystem::rename(partial, file, trouble);
  }
  if (trouble) {
    throw Error{ErrorCode::io, fmt::format("{}: {}", file.string(), trouble.message())};
  }
  return bytes;
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
  const plait::Hdf5Silence silence;
  const Writers ranks{communicator};
  const std::filesystem::path partial = file.string() + ".partial";
  std::optional<Error> trouble = attempt(ranks, [&] { check_step(step); });
  if (trouble) {
    return *trouble;
  }
  const detail::OutputShares shares = gather_shares(step, ranks);
  std::uint64_t bytes = 0;
  trouble = attempt(ranks, [&] { write_file(partial, step, shares, ranks); });
  if (!trouble) {
    trouble = attempt(ranks, [&] { bytes = ranks.self == 0 ? rename_complete(partial, file) : 0; });
  }
  if (trouble) {
    if (ranks.self == 0) {
      std::error_code ignored;
      std::filesystem::remove(partial, ignored);
    }
    return *trouble;
  }
  MPI_Bcast(&bytes, 1, MPI_UINT64_T, 0, communicator);
  return bytes;
}

}  // namespace pic
