// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/hdf5/snapshot.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "plait/files/hdf5/write_file.hpp"
#include "plait/particles/hdf5/detail/file_reader.hpp"
#include "plait/particles/hdf5/detail/file_writer.hpp"
#include "plait/particles/store/checks.hpp"

namespace plait::particles::hdf5 {
namespace {

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

SnapshotSlab slab_of(const SnapshotInfo& info, std::uint32_t type, std::uint32_t rank, std::uint32_t ranks) {
  expect(rank < ranks && type < types_max, "a rank is one of the ranks, and a type one that files have");
  if (info.rank_particles.size() == std::size_t{ranks} * types_max) {
    SnapshotSlab slab;
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
                                     const SnapshotLayout& layout,
                                     const Particles& particles) {
  detail::Shares shares;
  try {
    shares.totals = detail::count_types(particles);
  } catch (const Error& error) {
    return error;
  }
  shares.rank_particles = {shares.totals.begin(), shares.totals.end()};
  return files::write_hdf5(
      file, [&](files::Hdf5Writer& out) { detail::write_contents(out, header, layout, particles, shares); });
}

Result<SnapshotInfo> read_snapshot_info(const std::filesystem::path& file, const SnapshotLayout& layout) {
  const files::Hdf5Silence silence;
  try {
    return detail::read_info(files::Hdf5Reader{file}, layout);
  } catch (const Error& error) {
    return error;
  }
}

Result<SnapshotInfo> read_snapshot(const std::filesystem::path& file,
                                   const SnapshotLayout& layout,
                                   Particles& particles,
                                   std::uint32_t rank,
                                   std::uint32_t ranks) {
  const files::Hdf5Silence silence;
  const std::size_t before = particles.size();
  try {
    const files::Hdf5Reader reader{file};
    SnapshotInfo info = detail::read_info(reader, layout);
    std::array<SnapshotSlab, types_max> shares{};
    for (std::uint32_t type = 0; type < types_max; ++type) {
      shares[type] = slab_of(info, type, rank, ranks);
    }
    detail::read_particles(reader, info, layout, shares, particles);
    refuse_equal_ids(particles.ids().subspan(before), reader.name());
    return info;
  } catch (const Error& error) {
    cut(particles, before);
    return error;
  }
}

}  // namespace plait::particles::hdf5
