// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "plait/data/balance/balancers.hpp"

namespace plait::data::balance {

/// `balancer_entries()`, followed by Zoltan's: zoltan_rcb, zoltan_hsfc and zoltan_graph.
///
/// In a build without Zoltan they are in the table too, and `make` throws `Error` with `bad_argument` that names the
/// package to install. With Zoltan, `make` throws as the constructor of `Zoltan`, and MPI must be initialised.
[[nodiscard]] std::span<const BalancerEntry> entries_with_zoltan();

}  // namespace plait::data::balance
