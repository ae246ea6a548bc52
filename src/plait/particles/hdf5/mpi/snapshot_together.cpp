// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/hdf5/mpi/snapshot_together.hpp"

#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "plait/base/hdf5_handle.hpp"
#include "plait/particles/hdf5/detail/file_writer.hpp"

namespace plait::particles::hdf5 {
namespace {

int self_in(MPI_Comm communicator) {
  int self = 0;
  MPI_Comm_rank(communicator, &self);
  return self;
}

int count_in(MPI_Comm communicator) {
  int count = 1;
  MPI_Comm_size(communicator, &count);
  return count;
}

/// Does `work`, which throws `Error`; returns the error of the lowest rank that has one, on all ranks.
std::optional<Error> attempt(MPI_Comm communicator, const std::function<void()>& work) {
  std::string text;
  int first = count_in(communicator);
  try {
    work();
  } catch (const Error& error) {
    text = error.what();
    first = self_in(communicator);
  }
  MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, communicator);
  if (first == count_in(communicator)) {
    return std::nullopt;
  }
  int length = static_cast<int>(text.size());
  MPI_Bcast(&length, 1, MPI_INT, first, communicator);
  text.resize(static_cast<std::size_t>(length));
  MPI_Bcast(text.data(), length, MPI_CHAR, first, communicator);
  return Error{ErrorCode::io, text, Rank{static_cast<std::uint32_t>(first)}};
}

detail::Shares shares_of(const std::array<std::uint64_t, types_max>& counts, MPI_Comm communicator) {
  detail::Shares shares;
  const auto self = static_cast<std::size_t>(self_in(communicator));
  shares.rank_particles.resize(static_cast<std::size_t>(count_in(communicator)) * types_max);
  MPI_Allgather(
      counts.data(), types_max, MPI_UINT64_T, shares.rank_particles.data(), types_max, MPI_UINT64_T, communicator);
  for (std::size_t i = 0; i < shares.rank_particles.size(); ++i) {
    shares.totals[i % types_max] += shares.rank_particles[i];
    shares.firsts[i % types_max] += i / types_max < self ? shares.rank_particles[i] : 0;
  }
  shares.is_first_rank = self == 0;
  return shares;
}

Hdf5Handle create(const std::filesystem::path& partial, const Hdf5Handle& access) {
  Hdf5Handle file{H5Fcreate(partial.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.id()), H5Fclose};
  if (!file) {
    throw Error{ErrorCode::io,
                fmt::format("{}: cannot create the file: {}; does its folder exist, and may one write there?",
                            partial.string(),
                            hdf5_reason())};
  }
  return file;
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

Result<std::uint64_t> write_snapshot(const std::filesystem::path& file,
                                     const SnapshotHeader& header,
                                     const Layout& layout,
                                     const Particles& particles,
                                     MPI_Comm communicator) {
  const Hdf5Silence silence;
  const bool is_first = self_in(communicator) == 0;
  const std::filesystem::path partial = file.string() + ".partial";
  const Hdf5Handle access{H5Pcreate(H5P_FILE_ACCESS), H5Pclose};
  const Hdf5Handle transfer{H5Pcreate(H5P_DATASET_XFER), H5Pclose};
#ifdef H5_HAVE_PARALLEL
  H5Pset_fapl_mpio(access.id(), communicator, MPI_INFO_NULL);
  H5Pset_dxpl_mpio(transfer.id(), H5FD_MPIO_COLLECTIVE);
#else
  if (count_in(communicator) > 1) {
    return Error{ErrorCode::io,
                 fmt::format("{}: this HDF5 has no parallel I/O; build with one that has "
                             "(Debian: libhdf5-openmpi-dev) or run on one rank",
                             partial.string())};
  }
#endif
  std::array<std::uint64_t, types_max> counts{};
  // A kind that cannot be written must be known to all before one of them waits for it inside HDF5.
  std::optional<Error> trouble = attempt(communicator, [&] { counts = detail::count_types(particles); });
  if (!trouble) {
    const detail::Shares shares = shares_of(counts, communicator);
    trouble = attempt(communicator, [&] {
      Hdf5Handle out = create(partial, access);
      detail::FileWriter{out.id(), partial.string(), transfer.id()}.write(header, layout, particles, shares);
      if (!out.close()) {
        throw Error{ErrorCode::io,
                    fmt::format("{}: cannot be closed: {}; is the disk full?", partial.string(), hdf5_reason())};
      }
    });
  }
  std::uint64_t bytes = 0;
  if (!trouble) {
    trouble = attempt(communicator, [&] { bytes = is_first ? rename_complete(partial, file) : 0; });
  }
  if (trouble) {
    std::error_code ignored;
    if (is_first) {
      std::filesystem::remove(partial, ignored);
    }
    return *trouble;
  }
  MPI_Bcast(&bytes, 1, MPI_UINT64_T, 0, communicator);
  return bytes;
}

}  // namespace plait::particles::hdf5
