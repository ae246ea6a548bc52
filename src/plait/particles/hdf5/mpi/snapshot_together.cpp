// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/hdf5/mpi/snapshot_together.hpp"

#include <optional>

#include "plait/files/hdf5/mpi/mpi_ranks.hpp"
#include "plait/particles/hdf5/detail/file_writer.hpp"

namespace plait::particles::hdf5 {
namespace {

detail::Shares shares_of(const std::array<std::uint64_t, types_max>& counts, MPI_Comm communicator) {
  int self = 0;
  int ranks = 1;
  MPI_Comm_rank(communicator, &self);
  MPI_Comm_size(communicator, &ranks);
  detail::Shares shares;
  shares.rank_particles.resize(static_cast<std::size_t>(ranks) * types_max);
  MPI_Allgather(
      counts.data(), types_max, MPI_UINT64_T, shares.rank_particles.data(), types_max, MPI_UINT64_T, communicator);
  for (std::size_t i = 0; i < shares.rank_particles.size(); ++i) {
    shares.totals[i % types_max] += shares.rank_particles[i];
    shares.firsts[i % types_max] += i / types_max < static_cast<std::size_t>(self) ? shares.rank_particles[i] : 0;
  }
  shares.is_first_rank = self == 0;
  return shares;
}

}  // namespace

Result<std::uint64_t> write_snapshot(const std::filesystem::path& file,
                                     const SnapshotHeader& header,
                                     const SnapshotLayout& layout,
                                     const Particles& particles,
                                     MPI_Comm communicator) {
  files::MpiRanks ranks{communicator};
  std::array<std::uint64_t, types_max> counts{};
  // All ranks must know of an invalid kind before any of them waits inside HDF5.
  if (const auto trouble = net::first_error(ranks.exchange(), [&] { counts = detail::count_types(particles); })) {
    return *trouble;
  }
  const detail::Shares shares = shares_of(counts, communicator);
  return files::write_hdf5(
      file, ranks, [&](files::Hdf5Writer& out) { detail::write_contents(out, header, layout, particles, shares); });
}

}  // namespace plait::particles::hdf5
