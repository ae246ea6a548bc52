// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "alltoall/harness.hpp"
#include "alltoall/options.hpp"

namespace alltoall {

/// What plait's variants would take at one size on a modelled network of 1 Gbit/s (LogGP), on a virtual clock: the
/// engine's own protocol runs, work is time that passes. Beside them DIN: the same exchange while no rank polls the
/// network during the work, as with MIN. One row of `ranks` ranks; the same result each time.
///
/// Throws: `plait::Error` when a result is wrong.
[[nodiscard]] SizeMeasured measure_model(const Options& options, std::uint32_t ranks, std::size_t block_bytes);

}  // namespace alltoall
