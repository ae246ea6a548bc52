// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "plait/base/bytes.hpp"

namespace plait::net {

/// How drivers find each other before there is a network: gives every rank what each rank has brought, by rank.
///
/// Collective over the ranks of the driver. Called by the thread that makes the driver, inside its constructor. Throws:
/// whatever the means of exchange throws (MPI's is `mpi_exchange`, tests hand over memory).
using Exchange = std::function<std::vector<Bytes>(std::span<const std::byte> mine)>;

}  // namespace plait::net
