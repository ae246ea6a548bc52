// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "plait/base/error.hpp"

#include "ring/body.hpp"
#include "ring/diagnostics.hpp"
#include "ring/domain.hpp"
#include "ring/parameters.hpp"

namespace ring {

/// What a run needs besides its bodies to go on, bit for bit, as if it had not stopped.
struct RunState {
  double time = 0;
  std::uint64_t step = 0;
  Parameters parameters;
  Dissipation dissipation;
  double spring = 0;        ///< Energy in contacts.
  double energy_begin = 0;  ///< Total at the beginning, for the energy check.
  DomainGrid grid;
  std::vector<double> domain_bounds;       ///< `Domains::bounds`; empty when there are none.
  std::vector<std::uint64_t> rank_bodies;  ///< How many each rank held; they stand in the order of ranks.
};

/// Consecutive bodies of a snapshot.
struct Slab {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

struct Snapshot {
  RunState state;
  std::uint64_t total = 0;  ///< Bodies in the file.
  Slab slab;                ///< Which of them `bodies` are.
  std::vector<Body> bodies;
};

/// Which bodies `rank` of `ranks` takes: those that it held, when there were as many ranks; else an equal share.
[[nodiscard]] Slab slab_of(const RunState& state, std::uint64_t total, std::uint32_t rank, std::uint32_t ranks);

/// Writes bodies of one process to one HDF5 file in the layout of SWIFT and GADGET snapshots, as dark matter
/// (`PartType1`), in the order given. `docs` of the layout stand in apps/ring/README.md.
///
/// The file is written under another name and renamed when it is complete: what stood there stays whole until then.
/// Returns its size in bytes. Error: names file, data set and reason; nothing is left behind.
[[nodiscard]] plait::Result<std::uint64_t> write_snapshot(const std::filesystem::path& file,
                                                          const RunState& state,
                                                          std::span<const Body> bodies);

/// Reads state and, of the bodies, the share of `rank`; as many ranks as had written get what they held.
///
/// Error: names file, data set and what is wrong: missing or cut file, absent or misshapen data, numbers that are not
/// finite, masses that are not positive, ids that occur twice (within the share). Bodies at the same place are no
/// error: they exert no force on each other.
[[nodiscard]] plait::Result<Snapshot> read_snapshot(const std::filesystem::path& file,
                                                    std::uint32_t rank = 0,
                                                    std::uint32_t ranks = 1);

/// What is wrong with bodies as an initial condition; `source` names where they came from.
[[nodiscard]] plait::Result<std::uint64_t> check_bodies(std::span<const Body> bodies, const std::string& source);

}  // namespace ring
