// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/hdf5/snapshot.hpp"

#include <algorithm>
#include <system_error>

#include <fmt/format.h>

#include "plait/base/hdf5_handle.hpp"
#include "plait/particles/checks.hpp"
#include "plait/particles/hdf5/detail/file_reader.hpp"
#include "plait/particles/hdf5/detail/file_writer.hpp"

namespace plait::particles::hdf5 {
namespace {

std::uint64_t write_all(const std::filesystem::path& partial,
                        const SnapshotHeader& header,
                        const Layout& layout,
                        const Particles& particles) {
  detail::Shares shares;
  shares.totals = detail::count_types(particles);
  shares.rank_particles = {shares.totals.begin(), shares.totals.end()};
  Hdf5Handle file{H5Fcreate(partial.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose};
  if (!file) {
    throw Error{ErrorCode::io,
                fmt::format("{}: cannot create the file: {}; does its folder exist, and may one write there?",
                            partial.string(),
                            hdf5_reason())};
  }
  detail::FileWriter{file.id(), partial.string(), H5P_DEFAULT}.write(header, layout, particles, shares);
  if (!file.close()) {
    throw Error{ErrorCode::io,
                fmt::format("{}: cannot be closed: {}; is the disk full?", partial.string(), hdf5_reason())};
  }
  return std::filesystem::file_size(partial);
}

void cut(Particles& particles, std::size_t size) {
  std::vector<Particles::Index> places;
  for (std::size_t i = size; i < particles.size(); ++i) {
    places.push_back(static_cast<Particles::Index>(i));
  }
  particles.remove(places);
}

}  // namespace

const Attributes& SnapshotInfo::group(const std::string& name) const {
  const auto found = header.groups.find(name);
  if (found == header.groups.end()) {
    throw Error{ErrorCode::bad_input, fmt::format("{} has no group {}", file, name)};
  }
  return found->second;
}

Slab slab_of(const SnapshotInfo& info, std::uint32_t type, std::uint32_t rank, std::uint32_t ranks) {
  expect(rank < ranks && type < types_max, "a rank is one of the ranks, and a type one that files have");
  if (info.rank_particles.size() == std::size_t{ranks} * types_max) {
    Slab slab;
    for (std::uint32_t r = 0; r < rank; ++r) {
      slab.first += info.rank_particles[std::size_t{r} * types_max + type];
    }
    slab.count = info.rank_particles[std::size_t{rank} * types_max + type];
    return slab;
  }
  const std::uint64_t total = info.totals[type];
  return {total / ranks * rank + std::min<std::uint64_t>(rank, total % ranks),
          total / ranks + (rank < total % ranks ? 1 : 0)};
}

Result<std::uint64_t> write_snapshot(const std::filesystem::path& file,
                                     const SnapshotHeader& header,
                                     const Layout& layout,
                                     const Particles& particles) {
  const Hdf5Silence silence;
  const std::filesystem::path partial = file.string() + ".partial";
  const auto discard = [&partial] {
    std::error_code ignored;
    std::filesystem::remove(partial, ignored);
  };
  try {
    const std::uint64_t bytes = write_all(partial, header, layout, particles);
    std::filesystem::rename(partial, file);
    return bytes;
  } catch (const Error& error) {
    discard();
    return error;
  } catch (const std::filesystem::filesystem_error& error) {
    discard();
    return Error{ErrorCode::io, fmt::format("{}: {}", file.string(), error.code().message())};
  }
}

Result<SnapshotInfo> read_snapshot_info(const std::filesystem::path& file, const Layout& layout) {
  const Hdf5Silence silence;
  try {
    return detail::FileReader{file}.info(layout);
  } catch (const Error& error) {
    return error;
  }
}

Result<SnapshotInfo> read_snapshot(const std::filesystem::path& file,
                                   const Layout& layout,
                                   Particles& particles,
                                   std::uint32_t rank,
                                   std::uint32_t ranks) {
  const Hdf5Silence silence;
  const std::size_t before = particles.size();
  try {
    const detail::FileReader reader{file};
    SnapshotInfo info = reader.info(layout);
    std::array<Slab, types_max> shares{};
    for (std::uint32_t type = 0; type < types_max; ++type) {
      shares[type] = slab_of(info, type, rank, ranks);
    }
    reader.particles(info, layout, shares, particles);
    refuse_equal_ids(particles.ids().subspan(before), reader.name());
    return info;
  } catch (const Error& error) {
    cut(particles, before);
    return error;
  }
}

}  // namespace plait::particles::hdf5
