// SPDX-License-Identifier: Apache-2.0
#include "support/mpi/hdf5_together.hpp"

#include <string>
#include <system_error>

#include <fmt/format.h>

namespace app {
namespace {

using plait::Error;
using plait::ErrorCode;

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

void write_file(const std::filesystem::path& partial,
                MPI_Comm communicator,
                const std::function<void(const Hdf5Writer&)>& write) {
  const plait::Hdf5Handle access{H5Pcreate(H5P_FILE_ACCESS), H5Pclose};
  const plait::Hdf5Handle transfer{H5Pcreate(H5P_DATASET_XFER), H5Pclose};
#ifdef H5_HAVE_PARALLEL
  H5Pset_fapl_mpio(access.id(), communicator, MPI_INFO_NULL);
  H5Pset_dxpl_mpio(transfer.id(), H5FD_MPIO_COLLECTIVE);
#else
  if (count_in(communicator) > 1) {
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
  write(Hdf5Writer{file.id(), partial.string(), transfer.id()});
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
  return Error{ErrorCode::io, text, plait::Rank{static_cast<std::uint32_t>(first)}};
}

plait::Result<std::uint64_t> write_hdf5_together(const std::filesystem::path& file,
                                                 MPI_Comm communicator,
                                                 const std::function<void(const Hdf5Writer&)>& write) {
  const plait::Hdf5Silence silence;
  const bool is_first = self_in(communicator) == 0;
  const std::filesystem::path partial = file.string() + ".partial";
  std::uint64_t bytes = 0;
  std::optional<Error> trouble = attempt(communicator, [&] { write_file(partial, communicator, write); });
  if (!trouble) {
    trouble = attempt(communicator, [&] { bytes = is_first ? rename_complete(partial, file) : 0; });
  }
  if (trouble) {
    if (is_first) {
      std::error_code ignored;
      std::filesystem::remove(partial, ignored);
    }
    return *trouble;
  }
  MPI_Bcast(&bytes, 1, MPI_UINT64_T, 0, communicator);
  return bytes;
}

}  // namespace app
