// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plait/files/hdf5/writer.hpp"

#include "pic/output/openpmd.hpp"

namespace pic::detail {

/// How many particles of each species each rank has: what is the same in all ranks' writing.
struct OutputShares {
  std::uint32_t self = 0;
  std::string date;                                   ///< "2026-01-31 23:59:59 +0000"
  std::vector<std::vector<std::uint64_t>> particles;  ///< By species, by rank.
};

/// All of `step` into an open, empty file. Throws: `plait::Error`.
void write_contents(plait::files::Hdf5Writer& out, const OutputStep& step, const OutputShares& shares);

}  // namespace pic::detail
