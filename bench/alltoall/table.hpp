// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "alltoall/harness.hpp"
#include "support/report.hpp"

namespace alltoall {

/// Prints what was measured at one size, in the seed's columns and some more.
void print_table(const SizeMeasured& measured);

/// The same for the benchmark's JSON: for each variant and direction a row with the total, and one with the overlap
/// where the variant has a twin.
[[nodiscard]] std::vector<bench::Row> rows_of(const SizeMeasured& measured);

}  // namespace alltoall
