// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <hdf5.h>

#include "plait/base/hdf5_handle.hpp"

#include "ring/snapshot.hpp"

namespace ring::detail {

/// Writes all of a snapshot into `file`, which is open, empty, and open on all writers alike; the bodies are those of
/// `slab` among `total`. `transfer` is a data transfer property list. Throws: `plait::Error`; `name` is for it.
void write_contents(hid_t file,
                    const std::string& name,
                    const RunState& state,
                    std::uint64_t total,
                    Slab slab,
                    std::span<const Body> bodies,
                    hid_t transfer);

}  // namespace ring::detail
