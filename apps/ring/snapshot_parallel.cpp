// SPDX-License-Identifier: Apache-2.0
#include "ring/snapshot_parallel.hpp"

#include <numeric>
#include <optional>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "ring/detail/hdf5_file.hpp"

namespace ring {
namespace {

using plait::Error;
using plait::ErrorCode;

/// The error of the lowest rank that has one, on all ranks. Collective.
std::optional<Error> agree(const std::optional<Error>& mine, MPI_Comm communicator) {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &ranks);
  int first = mine ? rank : ranks;
  MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, communicator);
  if (first == ranks) {
    return std::nullopt;
  }
  std::string text = mine ? mine->what() : "";
  int length = static_cast<int>(text.size());
  MPI_Bcast(&length, 1, MPI_INT, first, communicator);
  text.resize(static_cast<std::size_t>(length));
  MPI_Bcast(text.data(), length, MPI_CHAR, first, communicator);
  return Error{ErrorCode::io, text, plait::Rank{static_cast<std::uint32_t>(first)}};
}

#ifdef H5_HAVE_PARALLEL
void write_all(const std::filesystem::path& partial,
               const RunState& state,
               Slab slab,
               std::span<const Body> bodies,
               MPI_Comm communicator) {
  const plait::Hdf5Handle access{H5Pcreate(H5P_FILE_ACCESS), H5Pclose};
  H5Pset_fapl_mpio(access.id(), communicator, MPI_INFO_NULL);
  const plait::Hdf5Handle transfer{H5Pcreate(H5P_DATASET_XFER), H5Pclose};
  H5Pset_dxpl_mpio(transfer.id(), H5FD_MPIO_COLLECTIVE);
  plait::Hdf5Handle file{H5Fcreate(partial.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.id()), H5Fclose};
  if (!file) {
    throw Error{ErrorCode::io,
                fmt::format("{}: cannot create the file: {}; does its folder exist, and may one write "
                            "there?",
                            partial.string(),
                            plait::hdf5_reason())};
  }
  const std::uint64_t total = std::accumulate(state.rank_bodies.begin(), state.rank_bodies.end(), std::uint64_t{0});
  detail::write_contents(file.id(), partial.string(), state, total, slab, bodies, transfer.id());
  if (!file.close()) {
    throw Error{ErrorCode::io,
                fmt::format("{}: cannot be closed: {}; is the disk full?", partial.string(), plait::hdf5_reason())};
  }
}
#else
void write_all(const std::filesystem::path& partial, const RunState&, Slab, std::span<const Body>, MPI_Comm) {
  throw Error{ErrorCode::io,
              fmt::format("{}: this HDF5 has no parallel I/O; build with one that has "
                          "(Debian: libhdf5-openmpi-dev) or run on one rank",
                          partial.string())};
}
#endif

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

plait::Result<std::uint64_t> write_snapshot(const std::filesystem::path& file,
                                            RunState state,
                                            std::span<const Body> bodies,
                                            MPI_Comm communicator) {
  const plait::Hdf5Silence silence;
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &ranks);
  state.rank_bodies.assign(static_cast<std::size_t>(ranks), 0);
  const std::uint64_t mine = bodies.size();
  MPI_Allgather(&mine, 1, MPI_UINT64_T, state.rank_bodies.data(), 1, MPI_UINT64_T, communicator);
  const Slab slab = slab_of(state, 0, static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(ranks));
  const std::filesystem::path partial = file.string() + ".partial";
  const auto attempt = [&](auto&& action) {
    std::optional<Error> trouble;
    try {
      action();
    } catch (const Error& error) {
      trouble = error;
    }
    return agree(trouble, communicator);
  };
  std::uint64_t bytes = 0;
  std::optional<Error> trouble = attempt([&] { write_all(partial, state, slab, bodies, communicator); });
  if (!trouble) {
    trouble = attempt([&] { bytes = rank == 0 ? rename_complete(partial, file) : 0; });
  }
  if (trouble) {
    std::error_code ignored;
    if (rank == 0) {
      std::filesystem::remove(partial, ignored);
    }
    return *trouble;
  }
  MPI_Bcast(&bytes, 1, MPI_UINT64_T, 0, communicator);
  return bytes;
}

}  // namespace ring
